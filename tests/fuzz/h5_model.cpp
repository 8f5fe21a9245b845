// A model file, read as scripts/kbcd/model_reader.lua does.
#include "h5_seeds.hpp"
#include "modules/data/h5.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  for (auto form : {H5Seed::with_checksums, H5Seed::oldest})
    for (bool sparse : {false, true}) {
      H5Seed file(form);
      file.attribute("/", "format", Bytes("kbcd model"));
      file.attribute("/", "version", 1);
      file.group("kernel");
      file.attribute("/kernel", "name", Bytes("rbf"));
      file.attribute("/kernel", "gamma", 0.5);
      file.table("coefficients", {3, 2}, H5Seed::checked);
      file.texts("classes", "cat", 2);
      if (!sparse) file.table("centers", {3, 2}, H5Seed::contiguous, H5T_IEEE_F32LE);
      if (sparse) {
        file.group("centers");
        file.table("centers/values", {3}, H5Seed::contiguous);
        file.table("centers/columns", {3}, H5Seed::contiguous, H5T_STD_I32LE);
        file.table("centers/starts", {4}, H5Seed::contiguous, H5T_STD_I64LE);
      }
      files.push_back(file.bytes() + '\0');
    }
  return files;
}

void parse(const std::string& path, unsigned) {
  auto file = H5File::open(path, true);
  for (const char* object : {"/", "/kernel"})
    for (auto& name : file.attributes(object)) file.attribute(object, name);
  if (file.has("/classes")) file.read_texts("/classes");
  Int m = file.extent("/coefficients").rows();
  file.read("/coefficients", 0, m, DType::f64);
  if (file.has("/centers/starts"))
    file.read_sparse("/centers", 3, 0, file.sparse_rows("/centers"), DType::f32);
  else
    file.read("/centers", m / 2, m - m / 2, DType::f32);
  file.close();
}

}  // namespace kbcd::fuzz
