// What the fuzzers share. A fuzzer is one file a parser that defines the two functions below; libFuzzer changes the
// seeds in ways that reach new code. Whatever the bytes are, a parser gives data or throws a kbcd::Error: any other
// exception, memory fault, undefined behaviour, leak, hang or large allocation is a bug.
#pragma once

#include <string>
#include <vector>

#include "modules/data/loader.hpp"
#include "tests/support/bytes.hpp"

namespace kbcd::fuzz {

using tests::Bytes;

// Good files to begin with; the last byte of each, which is not part of the file, is the `choice` below.
std::vector<Bytes> seeds();

// Each file with each of so many choices.
inline std::vector<Bytes> with_choices(char choices, const std::vector<Bytes>& files) {
  std::vector<Bytes> all;
  for (auto& file : files)
    for (char choice = 0; choice < choices; ++choice) all.push_back(file + choice);
  return all;
}

// Reads the file; `choice`, any number, picks the options.
void parse(const std::string& path, unsigned choice);

// What `choice` picks of several.
template <class T>
T pick(unsigned choice, const std::vector<T>& from) {
  return from[choice % from.size()];
}

}  // namespace kbcd::fuzz
