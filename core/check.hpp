// Whether the ranks are about to do the same: what a call is, and what is told when they differ.
//
// A call is compared by its hash, which one small message does; only where hashes differ do the texts travel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kbcd {

struct Call {
  std::string operation;  // "allreduce"
  std::string details;    // what must be the same, such as shapes and types: "2x3 f64"
  std::string sites;      // where the script is: "inner.lua:12", and after newlines the callers, the script itself last
  std::string note = {};  // what else is told of it; not compared

  std::uint64_t hash() const;
  std::string text() const;   // "at x.lua:12: allreduce of 2x3 f64"
  std::string place() const;  // "x.lua:12: allreduce of 2x3 f64"
};

// Calls on their way to other ranks: fields of fixed width.
constexpr int call_width = 768;
std::string pack(const Call& call);
Call unpack_call(const char* packed);

constexpr const char* end_of_script_name = "the end of the script";

std::string list_ranks(const std::vector<int>& ranks);  // "rank 1", "ranks 0, 2-5"

// What the ranks do instead of the same, one call a rank, and what may be the reason.
std::string difference(const std::vector<Call>& calls);

}  // namespace kbcd
