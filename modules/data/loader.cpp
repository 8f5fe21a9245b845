#include "modules/data/loader.hpp"

#include <algorithm>
#include <filesystem>

namespace kbcd {
namespace {

struct Format {
  std::string name;
  std::vector<std::string> options;
  RegisteredLoader::Matches matches;
  RegisteredLoader::Load load;
};

std::vector<Format>& formats() {
  static std::vector<Format> formats;
  return formats;
}

std::string extension_of(std::filesystem::path path) {
  if (path.extension() == ".gz") path = path.stem();
  return path.extension().string();
}

const Format& format_of(const std::string& path) {
  std::string bytes(1 << 16, '\0');
  bytes.resize(FileReader(path).read_some(bytes.data(), bytes.size()));
  FileStart start{bytes, extension_of(path)};
  const Format* best = nullptr;
  Match match = Match::no;
  std::string known;
  for (auto& format : formats()) {
    if (Match m = format.matches(start); m > match) best = &format, match = m;
    known += (known.empty() ? "" : ", ") + format.name;
  }
  require(best, "{}: the file is in none of the known formats ({})", path, known);
  return *best;
}

void require_for_format(const LoadOptions& options, const Format& format, const std::string& path) {
  std::vector<std::string> used = {"rows", "dtype"};
  used.insert(used.end(), format.options.begin(), format.options.end());
  for (auto& [option, value] : options.given())
    require(std::find(used.begin(), used.end(), option) != used.end(),
            "{}: the option '{}' has no meaning for a {} file; it takes {}", path, option, format.name,
            fmt::join(used, ", "));
  require(options.rows.value_or(1) >= 1, "{}: rows >= 1 expected, got {}", path, options.rows.value_or(1));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LoadOptions::given() const {
  std::vector<std::pair<std::string, std::string>> options;
  auto add = [&](const char* name, const auto& value) {
    if (value) options.emplace_back(name, fmt::format("{}", *value));
  };
  add("rows", rows);
  add("dtype", dtype ? std::optional(kbcd::name(*dtype)) : std::nullopt);
  add("scale", scale);
  add("path", path);
  add("member", member);
  add("sparse", sparse);
  add("features", features);
  add("header", header);
  add("names", names);
  std::string columns;
  for (auto& column : label) columns += std::visit([](auto& one) { return fmt::format(" {}", one); }, column);
  if (!label.empty()) options.emplace_back("label", columns);
  return options;
}

RegisteredLoader::RegisteredLoader(const char* format, std::vector<std::string> options, Matches matches, Load load) {
  formats().push_back({format, std::move(options), std::move(matches), std::move(load)});
}

RegisteredLoader::Matches begins_with(std::string_view magic) {
  return [magic](const FileStart& start) { return start.bytes.starts_with(magic) ? Match::sure : Match::no; };
}

Loaded load(const std::string& path, const LoadOptions& options) {
  const Format* format = nullptr;
  comm::together([&] {
    format = &format_of(path);
    require_for_format(options, *format, path);
  });
  std::optional<Loaded> loaded;
  comm::together([&] { loaded = format->load(path, options); });
  return std::move(*loaded);
}

}  // namespace kbcd
