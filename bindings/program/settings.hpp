// Settings that must be the same on every rank: those of the command line and of the environment, kbcd's version and,
// on several hosts, the program and its library of scripts, each host having its own files.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kbcd {

// Where some differ: an Error on every rank that lists which ranks, on which hosts, have which value. All ranks call
// it.
void require_same_settings(std::vector<std::pair<std::string, std::string>> settings);

}  // namespace kbcd
