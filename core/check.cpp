#include "core/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace kbcd {
namespace {

constexpr int fields = 4, field_width = call_width / fields;

// "steps.lua:90 (called at x.lua:9)"
std::string site_text(const std::string& sites) {
  auto first = sites.find('\n'), last = sites.rfind('\n');
  if (first == sites.npos) return sites;
  return fmt::format("{} (called at {})", sites.substr(0, first), sites.substr(last + 1));
}

// Of many sites, only the innermost and the script's own are compared: between the two, the library may be on different
// lines of different ranks.
std::string ends_of(const std::string& sites) {
  auto first = sites.find('\n'), last = sites.rfind('\n');
  return first == last ? sites : sites.substr(0, first) + sites.substr(last);
}

bool all_same(const std::vector<Call>& calls, std::string Call::*field) {
  return std::all_of(calls.begin(), calls.end(), [&](const Call& c) { return c.*field == calls[0].*field; });
}

}  // namespace

std::uint64_t Call::hash() const {
  return std::hash<std::string>{}(operation + '\n' + details + '\n' + ends_of(sites));
}

std::string Call::place() const {
  return fmt::format("{}{}{}{}{}", site_text(sites), sites.empty() ? "" : ": ", operation,
                     details.empty() ? "" : " of ", details);
}

std::string Call::text() const {
  std::string told = operation == end_of_script_name ? "reached " + operation : "at " + place();
  return note.empty() ? told : fmt::format("{} ({})", told, note);
}

std::string pack(const Call& call) {
  std::string packed;
  for (auto& field : {call.operation, call.details, ends_of(call.sites), call.note}) {
    std::string text = field.substr(0, field_width - 1);
    text.resize(field_width, '\0');
    packed += text;
  }
  return packed;
}

Call unpack_call(const char* packed) {
  return {packed, packed + field_width, packed + 2 * field_width, packed + 3 * field_width};
}

std::string list_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", i ? ", " : "", ranks[i]);
    if (last > i + 1) {
      text += fmt::format("-{}", ranks[last]);
      i = last;
    }
  }
  return text;
}

std::string difference(const std::vector<Call>& calls) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (int r = 0; r < static_cast<int>(calls.size()); ++r) {
    auto text = calls[r].text();
    auto group = std::find_if(groups.begin(), groups.end(), [&](auto& g) { return g.first == text; });
    if (group == groups.end()) group = groups.insert(groups.end(), {text, {}});
    group->second.push_back(r);
  }
  std::string message = "the ranks do not make the same call:\n";
  for (auto& [text, ranks] : groups) {
    const char* verb = text.starts_with("at ") ? (ranks.size() == 1 ? "is" : "are")
                       : ranks.size() == 1     ? "has"
                                               : "have";
    message += fmt::format("  {} {} {}\n", list_ranks(ranks), verb, text);
  }
  if (all_same(calls, &Call::operation) && all_same(calls, &Call::sites) && !all_same(calls, &Call::details))
    return message + "The shapes and types must be the same on every rank, and so must rows, seeds, options and paths.";
  return message +
         "Every rank must make the same calls, on the same lines, in the same order. Is one of them inside an `if` on "
         "rank(), or in a loop\nthat some ranks leave earlier?";
}

}  // namespace kbcd
