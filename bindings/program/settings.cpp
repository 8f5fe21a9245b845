#include "bindings/program/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "bindings/program/state.hpp"
#include "core/check.hpp"
#include "core/checksum.hpp"
#include "core/comm.hpp"
#include "core/error.hpp"

namespace kbcd {
namespace {

namespace fs = std::filesystem;

void add_file(Checksum& sum, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(1 << 20);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    sum.add(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
}

std::string fingerprint_of_program() {
  Checksum sum;
  add_file(sum, "/proc/self/exe");
  return Checksum::text(sum.value());
}

std::string fingerprint_of_library() {
  Checksum sum;
  for (auto& folder : lua::script_folders()) {
    std::error_code error;
    std::vector<fs::path> files;
    for (auto& entry : fs::recursive_directory_iterator(fs::path(folder) / "kbcd", error))
      if (entry.path().extension() == ".lua") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (auto& file : files) {
      std::string name = file.lexically_relative(folder).string();
      sum.add(name.data(), name.size());
      add_file(sum, file.string());
    }
  }
  return Checksum::text(sum.value());
}

// "1 on ranks 0, 2 (hosts h0, h2)"
std::string who_has_what(const std::vector<std::string>& values) {
  std::map<std::string, std::vector<int>> groups;
  for (int r = 0; r < static_cast<int>(values.size()); ++r) groups[values[r]].push_back(r);
  std::string text;
  for (auto& [value, ranks] : groups) {
    std::string names, last;
    for (int r : ranks) {
      std::string host = comm::host_of(r);
      if (host != last) names += (names.empty() ? "" : ", ") + host;
      last = host;
    }
    text += fmt::format("\n    {} on {}{}", value, list_ranks(ranks), names.empty() ? "" : " (" + names + ")");
  }
  return text;
}

}  // namespace

void require_same_settings(std::vector<std::pair<std::string, std::string>> settings) {
  if (comm::size() == 1) return;
  settings.emplace_back("version", KBCD_VERSION);
  if (!comm::host_of(0).empty()) {
    settings.emplace_back("the program (its checksum)", fingerprint_of_program());
    settings.emplace_back("the library of scripts (its checksum)", fingerprint_of_library());
  }
  Checksum sum;
  for (auto& [name, value] : settings) sum.add(value.data(), value.size());
  if (comm::same_everywhere(sum.value())) return;
  std::string message = "the ranks have different settings; every rank needs the same:";
  for (auto& [name, value] : settings) {
    auto values = comm::allgather(value);
    if (std::count(values.begin(), values.end(), value) == comm::size()) continue;
    message += fmt::format("\n  {}:{}", name, who_has_what(values));
  }
  throw Error(message);
}

}  // namespace kbcd
