// Packed files of every format that may be packed.
#include "fuzz.hpp"

namespace kbcd::fuzz {
namespace {

Bytes gzip(const Bytes& plain) {
  std::size_t crc = crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size()));
  return Bytes("\x1f\x8b\x08\0\0\0\0\0\0\3", 10) + tests::deflate_raw(plain) + tests::u32(crc) +
         tests::u32(plain.size());
}

}  // namespace

std::vector<Bytes> seeds() {
  using namespace tests;
  Bytes csv;
  for (int i = 0; i < 50; ++i) csv += "0.25,1,2\n";
  std::vector<Bytes> files = {
      npy("'<f8'", "(3, 2)", numbers<double>(counting(6))),
      Bytes("\0\0\x08\1\0\0\0\4", 8) + "abcd",
      "1 1:0.5 3:-2e3\n-1 2:1\n",
      csv,
  };
  for (auto& file : files) file = gzip(file) + '\0';
  files.push_back(gzip("1,2\n") + gzip("3,4\n") + '\0');  // members one behind the other are one file
  return files;
}

void parse(const std::string& path, unsigned choice) {
  load(path, pick<Values>(choice, {{}, {{"rows", 1}}, {{"dtype", DType::f32}}}));
}

}  // namespace kbcd::fuzz
