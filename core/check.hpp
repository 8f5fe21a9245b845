// Checks that all ranks are about to make the same call, and makes the message where they are not.
//
// Calls are compared by their hashes, in one small message; only where the hashes differ are the texts sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kbcd {

// Behind a line of a site: which of the calls on the line it is, as any number; compared, but shown only where it is
// the difference.
constexpr char position_mark = '\t';

struct Call {
  std::string operation;  // "allreduce"
  std::string details;    // what must be the same, such as shapes and types: "2x3 f64"
  std::string sites;      // where the script is: "inner.lua:12", and after newlines the callers, the script itself last
  std::string note = {};  // what else the message shows; not compared

  std::uint64_t hash() const;
  std::string text(bool positions = false) const;   // "at x.lua:12: allreduce of 2x3 f64"
  std::string place(bool positions = false) const;  // "x.lua:12: allreduce of 2x3 f64"
};

// Calls as messages to other ranks: fields of fixed width.
constexpr int call_width = 768;
std::string pack(const Call& call);
Call unpack_call(const char* packed);

constexpr const char* end_of_script_name = "the end of the script";

std::string list_ranks(const std::vector<int>& ranks);  // "rank 1", "ranks 0, 2-5"

// The message: what each rank is about to do, one call for each rank, and a likely reason.
std::string difference(const std::vector<Call>& calls);

}  // namespace kbcd
