// Products of rows of bytes on one thread, exact integers, on a CPU that multiplies bytes in fours (VNNI):
//
//   c(i, j) = Σ_k a(i, k) (b(j, k) − 128)  modulo 2^32, of bytes 0 … 255
//
// in tiles as those of tiles.hpp. One side has to be signed, hence the 128; the caller adds 128 Σ_k a(i, k) back. Sums
// wrap around and never saturate, so that any integer of at most 32 bits which is made of them is exact.
#pragma once

#include "core/tiles.hpp"

namespace kbcd::tiles {

// Rows of bytes, each filled with zeros to whole cache lines.
class ByteRows {
 public:
  void resize(Int rows, Int depth);  // allocates them; then fill each row()
  Int rows() const { return rows_; }
  Int depth() const { return depth_; }
  Int step() const { return step_; }
  std::uint8_t* row(Int i) { return packed_.data() + i * step_; }  // to be filled with depth() bytes
  const std::uint8_t* row(Int i) const { return packed_.data() + i * step_; }

 private:
  Int rows_ = 0, depth_ = 0, step_ = 0;
  Scratch<std::uint8_t> packed_;
};

// b, minus 128, packed by strips of byte_strip rows, four bytes of each after each other; filled to whole strips.
class ByteColumns {
 public:
  ByteColumns() = default;
  explicit ByteColumns(const ByteRows& b);
  Int cols() const { return cols_; }
  const std::int8_t* strip(Int first) const { return packed_.data() + first * quads_ * 4; }

 private:
  Int cols_ = 0, quads_ = 0;
  Scratch<std::int8_t> packed_;
};

constexpr Int byte_strip = 48, byte_group = 16;  // columns and rows of whole tiles

// c(i, j) for as many rows and columns as c has, whole groups and strips, which may reach beyond those of a and b;
// `first` begins a strip. Of all k in [from, to), a multiple of 4 (or the depth).
void multiply(const ByteRows& a, const ByteColumns& b, Int first, Int from, Int to, View<std::uint32_t> c);

// Those of "avx512 vnni" and "avx vnni" that this CPU can run, the fastest first; there may be none.
std::vector<std::string> byte_names();
bool multiplies_bytes();                     // one of them is chosen
void choose_bytes(const std::string& name);  // another than the fastest, or "none"

}  // namespace kbcd::tiles
