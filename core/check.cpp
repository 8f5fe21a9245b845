#include "core/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace kbcd {
namespace {

constexpr int fields = 4, field_width = call_width / fields;

// "x.lua:9", or "x.lua:9, instruction 12"
std::string line_text(const std::string& site, bool position) {
  auto mark = site.find(position_mark);
  std::string line = site.substr(0, mark);
  return position && mark != site.npos ? fmt::format("{}, instruction {}", line, site.substr(mark + 1)) : line;
}

// "steps.lua:90 (called at x.lua:9)"
std::string site_text(const std::string& sites, bool positions) {
  auto first = sites.find('\n'), last = sites.rfind('\n');
  if (first == sites.npos) return line_text(sites, positions);
  return fmt::format("{} (called at {})", line_text(sites.substr(0, first), positions),
                     line_text(sites.substr(last + 1), positions));
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

std::string Call::place(bool positions) const {
  return fmt::format("{}{}{}{}{}", site_text(sites, positions), sites.empty() ? "" : ": ", operation,
                     details.empty() ? "" : " of ", details);
}

std::string Call::text(bool positions) const {
  std::string told = operation == end_of_script_name ? "reached " + operation : "at " + place(positions);
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
  bool one_line = std::all_of(calls.begin(), calls.end(), [&](const Call& c) { return c.text() == calls[0].text(); });
  for (int r = 0; r < static_cast<int>(calls.size()); ++r) {
    auto text = calls[r].text(one_line);
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
  if (one_line && groups.size() > 1)
    return message +
           "These are different calls on one line. Every rank must make the same calls in the same order; write each call "
           "on a line of its own\nto see which they are.";
  return message +
         "Every rank must make the same calls, on the same lines, in the same order. Is one of them inside an `if` on "
         "rank(), or in a loop\nthat some ranks leave earlier?";
}

}  // namespace kbcd
