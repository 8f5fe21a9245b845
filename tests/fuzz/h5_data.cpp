// HDF5 as data; in the form with checksums, since a file of the oldest form can lead HDF5 1.10 in circles.
#include "h5_seeds.hpp"

namespace kbcd::fuzz {

std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  for (auto layout : {H5Seed::contiguous, H5Seed::checked, H5Seed::deflated}) {
    H5Seed one(H5Seed::with_checksums);
    one.table("x", {3, 2}, layout);
    files.push_back(one.bytes() + '\0');
    H5Seed several(H5Seed::with_checksums);
    several.group("g");
    several.table("g/x", {2, 2, 3}, layout, H5T_STD_U8LE);
    several.table("y", {4}, layout, H5T_STD_I64BE);
    files.push_back(several.bytes() + '\1');
  }
  return files;
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{}, {{"path", "/g/x"}}, {{"dtype", DType::f32}, {"path", "/y"}}, {{"rows", 1}}}));
}

}  // namespace kbcd::fuzz
