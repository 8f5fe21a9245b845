// Which files the program may touch: all, or, once restrict() was called (kbcd --sandbox), those in folders that were
// named.
//
// A path is resolved first, symbolic links and `..` included. Whatever opens a file by a path that a script gave calls
// reading() or writing() before it does. Where the kernel has Landlock, it holds the same line once more, for what
// forgets to ask, and lets nothing be executed.
#pragma once

#include <string>

namespace kbcd::access {

void allow(const std::string& folder, bool write);  // also what is below it; write includes read
void restrict();                                    // from now on and for good

void reading(const std::string& path);  // an error where the path lies elsewhere
void writing(const std::string& path);  // also for a file that is not there yet
void replacing(
    const std::string& path);  // a name that goes or is given to another file: what it links to is not asked for

}  // namespace kbcd::access
