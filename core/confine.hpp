// The kernel's boundary around the process (kbcd --sandbox): Landlock for files, TCP ports, signals and abstract
// sockets, and a filter of system calls (syscall_filter.hpp). It holds for every thread and for whatever code runs in
// the process, and cannot be undone.
#pragma once

#include <string>
#include <vector>

namespace kbcd::confine {

enum class Use { read, write, remove };  // write includes read; remove: files can be removed, and that is all

struct Place {
  std::string path;
  Use use;
};

// What the sandbox needs and this kernel does not have, as a text; empty if nothing. $KBCD_SANDBOX_WITHOUT (landlock or
// seccomp) names one more, for tests: what the kernel has is used all the same.
std::string lacking();

// From now on, as far as the kernel can: files in these places alone, and the libraries of the system to read. Throws
// where the kernel could but fails, or where a thread does not take part.
void enter(const std::vector<Place>& places);

// Every thread must let this signal through: by it, threads confine themselves.
int signal_of_threads();

}  // namespace kbcd::confine
