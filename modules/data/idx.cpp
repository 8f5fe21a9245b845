// idx, the format of MNIST and its kin: 0, 0, a type byte, the number of dimensions, the dimensions, numbers;
// all big-endian. One dimension (labels) gives n x 1; u8 images give rows in [0, 1].
#include <array>
#include <cstdint>

#include "modules/data/raw_array.hpp"

namespace kbcd {
namespace {

RawArray element_type(int code, const std::string& path) {
  switch (code) {
    case 0x08:
      return {'u', 1, true, false, {}};
    case 0x09:
      return {'i', 1, true, false, {}};
    case 0x0B:
      return {'i', 2, true, false, {}};
    case 0x0C:
      return {'i', 4, true, false, {}};
    case 0x0D:
      return {'f', 4, true, false, {}};
    case 0x0E:
      return {'f', 8, true, false, {}};
  }
  fail("{}: idx element type 0x{:02x} is none of 08, 09, 0B, 0C, 0D, 0E", path, code);
}

Loaded load_idx(const std::string& path, const Params& options) {
  FileReader in(path);
  std::array<std::uint8_t, 4> word;
  in.read(word.data(), 4, "the idx header");
  RawArray array = element_type(word[2], path);
  int dimensions = word[3];
  for (int i = 0; i < dimensions; ++i) {
    in.read(word.data(), 4, "the idx header");
    array.shape.push_back(static_cast<Int>(word[0]) << 24 | word[1] << 16 | word[2] << 8 | word[3]);
  }
  return {read_array(in, array, options)};
}

// 0, 0, one of the type codes, and a small number of dimensions.
Match is_idx(const FileStart& start) {
  auto bytes = start.bytes;
  bool is = bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 0x08 && bytes[2] <= 0x0E &&
            bytes[3] >= 1 && bytes[3] <= 8;
  return is ? Match::sure : Match::no;
}

const RegisteredLoader idx({
    .name = "idx",
    .gives = "X",
    .options = {scale_option(), bytes_option()},
    .matches = is_idx,
    .load = load_idx,
});

}  // namespace
}  // namespace kbcd
