#include "modules/data/loader.hpp"

#include <algorithm>
#include <filesystem>

namespace kbcd {
namespace {

std::vector<Loader>& registered() {
  static std::vector<Loader> loaders;
  return loaders;
}

std::string extension_of(std::filesystem::path path) {
  if (path.extension() == ".gz") path = path.stem();
  return path.extension().string();
}

Params checked(const Loader& loader, const std::string& path, const Values& options) {
  std::vector<Param> declared = common_options();
  declared.insert(declared.end(), loader.options.begin(), loader.options.end());
  return Params(fmt::format("load: {} ({})", path, loader.name), declared, options);
}

bool before(const Loader& a, const Loader& b) {
  auto less = [](unsigned char x, unsigned char y) { return std::tolower(x) < std::tolower(y); };
  return std::lexicographical_compare(a.name.begin(), a.name.end(), b.name.begin(), b.name.end(), less);
}

}  // namespace

const std::vector<Loader>& loaders() {
  return registered();
}

const std::vector<Param>& common_options() {
  static const std::vector<Param> options = {
      {.name = "rows", .help = "only the first so many", .kind = Kind::count},
      {.name = "dtype",
       .help = "of X; by default f32 where it holds every value of the file's type, else f64",
       .kind = Kind::one_of,
       .choices = {"f32", "f64"}}};
  return options;
}

const Loader& loader_of(const std::string& path) {
  std::string bytes(1 << 16, '\0');
  bytes.resize(FileReader(path).read_some(bytes.data(), bytes.size()));
  require(!bytes.starts_with("\xFF\xFE") && !bytes.starts_with("\xFE\xFF"),
          "{}: text in UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 OLD >NEW", path);
  FileStart start{bytes, extension_of(path)};
  refuse_foreign(path, start);
  const Loader* best = nullptr;
  Match match = Match::no;
  std::string known;
  for (auto& loader : loaders()) {
    if (Match m = loader.matches(start); m > match) best = &loader, match = m;
    known += (known.empty() ? "" : ", ") + loader.name;
  }
  if (!best) refuse_foreign_name(path, start.extension);
  require(best, "{}: the file is in none of the known formats ({}); give a table of text a name that ends in .csv",
          path, known);
  return *best;
}

RegisteredLoader::RegisteredLoader(Loader loader) {
  auto& all = registered();
  all.insert(std::upper_bound(all.begin(), all.end(), loader, before), std::move(loader));
}

std::function<Match(const FileStart&)> begins_with(std::string_view magic) {
  return [magic](const FileStart& start) { return start.bytes.starts_with(magic) ? Match::sure : Match::no; };
}

Loaded load(const std::string& path, const Values& options) {
  const Loader* loader = nullptr;
  std::optional<Params> params;
  comm::together([&] {
    loader = &loader_of(path);
    params = checked(*loader, path, options);
  });
  std::optional<Loaded> loaded;
  comm::together([&] { loaded = loader->load(path, *params); });
  return std::move(*loaded);
}

}  // namespace kbcd
