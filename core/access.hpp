// Which files the program may touch: all, or, once restrict() was called (kbcd --sandbox), those in folders that were
// named.
//
// A path is resolved first, symbolic links and `..` included. Code that opens a file by a path from a script calls
// reading() or writing() first, for a clear message. The boundary itself is the kernel's (confine.hpp), which enforces
// the same rules, whatever code runs in the process.
#pragma once

#include <string>
#include <vector>

namespace kbcd::access {

void allow(const std::string& folder, bool write);  // also what is below it; write includes read
// From now on; cannot be undone. cleaned: a folder of whose files the program may remove some, and no more.
void restrict(const std::string& cleaned = "");
std::vector<std::string> writable_folders();

void reading(const std::string& path);    // an error where the path lies elsewhere
void writing(const std::string& path);    // also for a file that does not exist yet
void replacing(const std::string& path);  // a name that is removed or renamed: its link target is not checked

}  // namespace kbcd::access
