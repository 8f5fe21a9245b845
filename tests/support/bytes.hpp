// Files as bytes, made by hand for the tests and the fuzzers: numbers, .npy, zip archives.
#pragma once

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kbcd::tests {

using Bytes = std::string;

template <class U>
inline Bytes number(double value, bool big) {
  auto raw = std::bit_cast<std::array<char, sizeof(U)>>(static_cast<U>(value));
  if (big != (std::endian::native == std::endian::big)) std::reverse(raw.begin(), raw.end());
  return {raw.data(), raw.size()};
}

template <class U>
inline Bytes numbers(const std::vector<double>& values, bool big = false) {
  Bytes out;
  for (double v : values) out += number<U>(v, big);
  return out;
}

inline Bytes npy(const std::string& descr, const std::string& shape, const Bytes& payload, bool fortran = false,
                 int version = 1) {
  Bytes header =
      fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, fortran ? "True" : "False", shape);
  header += Bytes(63 - (header.size() + 10) % 64, ' ') + "\n";
  auto size = static_cast<double>(header.size());
  return "\x93NUMPY" + Bytes{static_cast<char>(version), 0} +
         (version == 1 ? number<std::uint16_t>(size, false) : number<std::uint32_t>(size, false)) + header + payload;
}

inline std::vector<double> counting(int count, double first = 0) {
  std::vector<double> values(count);
  for (int i = 0; i < count; ++i) values[i] = first + i;
  return values;
}

// Whole numbers; a value that is too large becomes the largest of the type.
template <class U>
inline Bytes whole(std::size_t value) {
  return number<U>(static_cast<double>(std::min<std::size_t>(value, std::numeric_limits<U>::max())), false);
}
inline Bytes u16(std::size_t value) {
  return whole<std::uint16_t>(value);
}
inline Bytes u32(std::size_t value) {
  return whole<std::uint32_t>(value);
}
inline Bytes u64(std::size_t value) {
  return whole<std::uint64_t>(value);
}

inline Bytes deflate_raw(const Bytes& plain) {
  Bytes packed(plain.size() + 1000, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// What a writer may do, and do wrong.
struct Zip {
  bool deflated = false, zip64 = false;
  int method = -1;  // instead of the right one
  int flags = 0;
  std::optional<std::size_t> size = {};  // instead of the right one, in the directory
  std::optional<std::size_t> packed = {};
  std::optional<std::size_t> offset = {};
  std::optional<std::size_t> count = {};
  std::size_t wrong_crc = 0;
  Bytes comment = "";

  Bytes of(const std::vector<std::pair<std::string, Bytes>>& members) const {
    constexpr std::size_t wide = 0xFFFFFFFF;
    Bytes out, directory;
    for (auto& [name, plain] : members) {
      Bytes data = deflated ? deflate_raw(plain) : plain;
      std::size_t crc =
          crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())) + wrong_crc;
      std::size_t sizes[] = {size.value_or(plain.size()), packed.value_or(data.size()), offset.value_or(out.size())};
      Bytes common = u16(flags) + u16(method >= 0 ? method : deflated ? 8 : 0) + u32(0) + u32(crc & wide);
      Bytes extra = zip64 ? u16(1) + u16(24) + u64(sizes[0]) + u64(sizes[1]) + u64(sizes[2]) : "";
      directory += "PK\1\2" + u16(45) + u16(45) + common +
                   (zip64 ? u32(wide) + u32(wide) : u32(sizes[1]) + u32(sizes[0])) + u16(name.size()) +
                   u16(extra.size()) + u16(0) + u16(0) + u16(0) + u32(0) + u32(zip64 ? wide : sizes[2]) + name + extra;
      Bytes local = u16(1) + u16(16) + u64(plain.size()) + u64(data.size());  // as NumPy writes it, always
      out += "PK\3\4" + u16(45) + common + u32(wide) + u32(wide) + u16(name.size()) + u16(local.size()) + name + local +
             data;
    }
    std::size_t start = out.size(), entries = count.value_or(members.size());
    out += directory;
    if (zip64)
      out += "PK\6\6" + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(entries) + u64(entries) +
             u64(directory.size()) + u64(start) + "PK\6\7" + u32(0) + u64(start + directory.size()) + u32(1);
    return out + "PK\5\6" + u16(0) + u16(0) + u16(entries) + u16(entries) +
           (zip64 ? u32(wide) + u32(wide) : u32(directory.size()) + u32(start)) + u16(comment.size()) + comment;
  }
};

}  // namespace kbcd::tests
