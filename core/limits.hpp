// Limits of what a job may take: --limit-seconds, --limit-memory and --limit-disk.
//
// A thread looks at the clock and at the disk; the kernel enforces the rest (RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU), so
// that they hold in compiled loops and within calls of C++. Before the kernel refuses memory, matrices (memory.hpp) and
// Lua's own allocator give errors that name the limit.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kbcd::limits {

constexpr int exit_status = 120;  // of a job that a limit has ended

struct Limits {
  std::optional<double> seconds;            // since the program started
  std::optional<std::size_t> memory, disk;  // bytes: of each rank; of all files together
};

// From now on. folders: what is in them counts for `disk`, as far as it grows. end(message) ends the job; it is called
// on a thread of its own.
void set(const Limits& limits, std::vector<std::string> folders, std::function<void(const std::string&)> end);

// Bytes on the disk of a folder and what is below it; an empty file counts as one block.
std::size_t disk_use(const std::string& folder);

}  // namespace kbcd::limits
