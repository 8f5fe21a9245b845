// Checksum: 64 bits over bytes, to detect changes; it is not cryptographic.
//
//     h <- (h xor word) * odd,  h <- h xor (h >> 32)     for every 8 bytes, then for their number
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "core/matrix.hpp"

namespace kbcd {

class Checksum {
 public:
  void add(std::uint64_t word) {
    sum_ = (sum_ ^ word) * 0x9e3779b97f4a7c15u;
    sum_ ^= sum_ >> 32;
  }
  void add(const void* bytes, std::size_t count) {
    auto* from = static_cast<const char*>(bytes);
    std::uint64_t word = 0;
    std::size_t i = 0;
    for (; i + sizeof word <= count; i += sizeof word) {
      std::memcpy(&word, from + i, sizeof word);
      add(word);
    }
    word = 0;
    if (i < count) std::memcpy(&word, from + i, count - i);
    add(word);
    add(count);
  }
  std::uint64_t value() const { return sum_; }

  static std::string text(std::uint64_t value) { return fmt::format("{:016x}", value); }

 private:
  std::uint64_t sum_ = 0x2545f4914f6cdd1du;
};

// Of the numbers of a matrix, row by row.
inline std::string checksum_text(const Matrix& matrix) {
  Matrix rows = matrix.contiguous(matrix.dtype());
  Checksum sum;
  dispatch(rows.dtype(), [&]<class T>() { sum.add(rows.view<T>().data, rows.size() * sizeof(T)); });
  return Checksum::text(sum.value());
}

}  // namespace kbcd
