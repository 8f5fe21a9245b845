// Which files the program may touch: all, or, once restrict() was called (kbcd --sandbox), those in folders that were
// named.
//
// A path is resolved first, symbolic links and `..` included. Code that opens a file by a path from a script calls
// reading() or writing() first. Where the Linux kernel has Landlock, it enforces the same rules again, in case a call
// was forgotten, and nothing can be executed.
#pragma once

#include <string>

namespace kbcd::access {

void allow(const std::string& folder, bool write);  // also what is below it; write includes read
void restrict();                                    // from now on; cannot be undone

void reading(const std::string& path);    // an error where the path lies elsewhere
void writing(const std::string& path);    // also for a file that does not exist yet
void replacing(const std::string& path);  // a name that is removed or renamed: its link target is not checked

}  // namespace kbcd::access
