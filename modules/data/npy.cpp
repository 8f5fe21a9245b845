// NumPy's .npy: "\x93NUMPY", version, header length, a Python dictionary with descr, fortran_order and shape,
// numbers or texts.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "modules/data/raw_array.hpp"

namespace kbcd {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

// What follows `'key':` in the header.
std::string_view value_of(std::string_view header, const std::string& key, const std::string& path) {
  auto at = header.find("'" + key + "':");
  require(at != header.npos, "{}: the .npy header has no '{}'", path, key);
  auto value = header.substr(at + key.size() + 3);
  return value.substr(std::min(value.size(), value.find_first_not_of(' ')));
}

std::vector<Int> parse_shape(std::string_view text, const std::string& path) {
  std::vector<Int> shape;
  auto end = text.find(')');
  require(text.starts_with('(') && end != text.npos, "{}: the .npy header has no shape in brackets", path);
  for (std::string_view rest = text.substr(1, end - 1); !rest.empty();) {
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" ,")));
    if (rest.empty()) break;
    Int size = 0;
    auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    require(error == std::errc{} && size >= 0, "{}: the .npy header's shape '({})' is not one", path,
            text.substr(1, end - 1));
    shape.push_back(size);
    rest.remove_prefix(stop - rest.data());
  }
  return shape;
}

// The type behind 'descr': one letter for the kind, and the bytes (of U: the characters) of one element.
RawArray parse_type(std::string_view descr, const std::string& path) {
  auto end = descr.find('\'', 1);
  bool plain = descr.size() >= 4 && descr[0] == '\'' && end != descr.npos && end >= 3;
  require(plain || !descr.starts_with('['),
          "{}: plain numbers expected (descr such as '<f4'), the .npy header has named fields; save "
          "numpy.lib.recfunctions.structured_to_unstructured(a)",
          path);
  std::string_view orders = "<>|=", kinds = "uifbUSOcMmV";
  require(plain && orders.find(descr[1]) != orders.npos && kinds.find(descr[2]) != kinds.npos,
          "{}: plain numbers expected (descr such as '<f4'), the .npy header says {}", path, descr.substr(0, 40));
  RawArray array{descr[2], 0, descr[1] == '>', false, {}};
  require(array.kind != 'O',
          "{}: an array of Python objects (dtype object, a pickle), which is not read: save a.astype(\"f8\"), or "
          "a.astype(str) for labels that are texts",
          path);
  require(array.kind != 'M' && array.kind != 'm',
          "{}: dates or durations ({}) are not read; save them as numbers: a.astype(\"i8\").astype(\"f8\")", path,
          descr.substr(0, end + 1));
  auto digits = descr.substr(3, end - 3);
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), array.bytes);
  constexpr Int most = 1 << 28;
  require(error == std::errc{} && stop == digits.data() + digits.size() && array.bytes >= 0 && array.bytes <= most,
          "{}: plain numbers expected (descr such as '<f4'), the .npy header says {}", path, descr.substr(0, end + 1));
  if (array.kind == 'U') array.bytes *= 4;
  return array;
}

}  // namespace

RawArray read_npy_header(ByteReader& in) {
  auto& path = in.name();
  std::array<std::uint8_t, 8> start;
  in.read(start.data(), 8, "the .npy header");
  require(std::equal(magic.begin(), magic.end(), start.begin(), [](char a, int b) { return (a & 0xFF) == b; }),
          "{}: this is no .npy array", path);
  int version = start[6];
  require(version >= 1 && version <= 3, "{}: .npy of version 1 to 3 expected, got {}", path, version);
  std::array<std::uint8_t, 4> size{};
  in.read(size.data(), version == 1 ? 2 : 4, "the .npy header");
  Int length = size[0] | size[1] << 8 | size[2] << 16 | static_cast<Int>(size[3]) << 24;
  in.require_more(length);
  std::string header(length, '\0');
  in.read(header.data(), length, "the .npy header");
  RawArray array = parse_type(value_of(header, "descr", path), path);
  auto order = value_of(header, "fortran_order", path);
  require(order.starts_with("True") || order.starts_with("False"), "{}: fortran_order must be True or False", path);
  array.column_major = order.starts_with("True");
  array.shape = parse_shape(value_of(header, "shape", path), path);
  return array;
}

ArrayRows read_npy(ByteReader& in, const Params& options) {
  RawArray array = read_npy_header(in);
  if (array.texts()) return read_names(in, array, options);
  require(!options.get<bool>("names").value_or(false), "{}: names = true is for texts, the array holds {}", in.name(),
          array.type());
  return {read_array(in, array, options)};
}

namespace {

Loaded load_npy(const std::string& path, const Params& options) {
  return load_array([&]() -> ArrayRows {
    FileReader in(path);
    return read_npy(in, options);
  });
}

const RegisteredLoader npy({
    .name = "npy",
    .gives = "X; further dimensions than the first make up the columns; of texts, with names, also classes",
    .options = {scale_option(), bytes_option(), names_option()},
    .matches = begins_with(magic),
    .load = load_npy,
});

}  // namespace
}  // namespace kbcd
