// Products on one thread whose result is in cache right away: kernel blocks, feature blocks and their products with few
// columns are made of them.
//
//   C(i, j) = Σ_k A(i, k) B(k, j)
//
// in tiles of a few rows by two or three vectors of columns that stay in registers over all k. An operand that many
// products share is packed once (Rows, Columns), so that a panel of rows costs no packing of the other side; BLAS would
// pack both for each call, and is slow for a result of 10 columns. The tile is compiled for AVX-512, AVX2 and any CPU,
// and chosen when the program runs.
#pragma once

#include <vector>

#include "core/matrix.hpp"

namespace kbcd::tiles {

// A buffer of numbers; its contents are lost when it grows.
template <class T>
class Scratch {
 public:
  T* at_least(Int count);
  T* data() const { return buffer_ ? static_cast<T*>(buffer_->data()) : nullptr; }

 private:
  std::unique_ptr<Buffer> buffer_;
};

// A, packed by groups of rows: for each group, k after k.
template <class T>
class Rows {
 public:
  // Allocates rows of `depth` numbers; then call set() for each group of group_rows() of them.
  void resize(Int rows, Int depth);
  static Int group_rows();
  void pack(View<T> a, T factor = 1);  // all of them
  // Rows [first, first + count) of one group, from lines of `depth` numbers, each times `factor`.
  void set(Int first, Int count, const T* lines, Int ld, T factor = 1);

  Int rows() const { return rows_; }
  Int depth() const { return depth_; }
  const T* group(Int first) const { return packed_.data() + first * depth_; }

 private:
  Int rows_ = 0, depth_ = 0;
  Scratch<T> packed_;
};

// B, packed by strips of columns: for each strip, k after k; filled with zeros to whole strips.
template <class T>
class Columns {
 public:
  Columns() = default;
  explicit Columns(View<T> b);

  Int depth() const { return depth_; }
  Int cols() const { return cols_; }
  Int vectors() const { return vectors_; }
  Int strip_cols() const;
  const T* strip(Int first) const { return packed_.data() + first * depth_; }

 private:
  Int depth_ = 0, cols_ = 0, vectors_ = 1;
  Scratch<T> packed_;
};

// c = a b(:, first …), for as many columns as c has; `first` begins a strip.
template <class T>
void multiply(const Rows<T>& a, const Columns<T>& b, Int first, View<T> c);
// c = a b, the rows of a read in place; rows that are shorter than b is deep are read as if zeros followed.
template <class T>
void multiply(View<T> a, const Columns<T>& b, View<T> c);
// c = a b + (accumulate ? c : 0), the rows of b read in place.
template <class T>
void multiply(const Rows<T>& a, View<T> b, bool accumulate, View<T> c);

// A row length in memory, at least `cols`, at which the rows of a panel do not all fall on the same cache lines.
template <class T>
Int row_stride(Int cols);

std::vector<std::string> names();  // those of "avx512", "avx2" and "any cpu" that this CPU can run, the fastest first
const std::string& chosen_name();
void choose(const std::string& name);  // another than the fastest; operands packed before must be packed again

}  // namespace kbcd::tiles
