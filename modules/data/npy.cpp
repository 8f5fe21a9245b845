// NumPy's .npy: "\x93NUMPY", version, header length, a Python dictionary with descr, fortran_order and shape,
// numbers.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "modules/data/loader.hpp"

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
  require(!shape.empty(), "{}: an array of at least one dimension expected, got a single number", path);
  return shape;
}

RawArray parse_header(std::string_view header, const std::string& path) {
  auto descr = value_of(header, "descr", path);
  require(descr.size() >= 5 && descr[0] == '\'' && std::string_view("<>|=").find(descr[1]) != descr.npos &&
              descr.find('\'', 1) == 4,
          "{}: plain numbers expected (descr such as '<f4'), the .npy header says {}", path, descr.substr(0, 40));
  auto order = value_of(header, "fortran_order", path);
  require(order.starts_with("True") || order.starts_with("False"), "{}: fortran_order must be True or False", path);
  return {descr[2], descr[3] - '0', descr[1] == '>', order.starts_with("True"),
          parse_shape(value_of(header, "shape", path), path)};
}

}  // namespace

DataSet read_npy(ByteReader& in, const Params& options) {
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
  return read_array(in, parse_header(header, path), options);
}

namespace {

Loaded load_npy(const std::string& path, const Params& options) {
  FileReader in(path);
  return {read_npy(in, options)};
}

const RegisteredLoader npy({
    .name = "npy",
    .gives = "X; further dimensions than the first make up the columns",
    .options = {scale_option()},
    .matches = begins_with(magic),
    .load = load_npy,
});

}  // namespace
}  // namespace kbcd
