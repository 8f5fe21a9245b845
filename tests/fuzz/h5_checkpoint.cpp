// A checkpoint, read as scripts/kbcd/files/checkpoint.lua does.
#include "h5_seeds.hpp"
#include "modules/data/h5.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  for (auto form : {H5Seed::with_checksums, H5Seed::oldest}) {
    H5Seed file(form);
    file.attribute("/", "format", Bytes("kbcd checkpoint"));
    file.attribute("/", "version", 2);
    file.attribute("/", "checksum", Bytes("0123456789abcdef"));
    file.texts("settings", "b=2", 3);
    file.group("replicated");
    file.group("distributed");
    file.table("replicated/alpha", {3, 2}, H5Seed::checked);
    file.table("distributed/E", {4, 2}, H5Seed::checked);
    files.push_back(file.bytes() + '\0');
  }
  return files;
}

void parse(const std::string& path, unsigned) {
  auto file = H5File::open(path, true);
  for (auto& name : file.attributes("/")) file.attribute("/", name);
  file.read_texts("/settings");
  for (std::string group : {"/replicated", "/distributed"}) {
    if (!file.has(group)) continue;
    for (auto& name : file.members(group)) {
      std::string table = group + "/" + name;
      file.read(table, 0, file.extent(table).rows(), DType::f64);
    }
  }
  file.close();
}

}  // namespace kbcd::fuzz
