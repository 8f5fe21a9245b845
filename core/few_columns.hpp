// Both products of a piece K of a symmetric matrix with few columns, from one pass over the piece:
//
//   d(j, i) = Σ_c K(i, c) v(j, c)        t(j, c) = Σ_i w(i, j) K(i, c)
//
// Such products are bound by the speed of memory. A few rows of K at a time are read for both, while they are in cache,
// and the rows that follow are asked for meanwhile.
#pragma once

#include "core/matrix.hpp"

namespace kbcd::tiles {

// The numbers of a cache line.
template <class T>
constexpr Int few_columns = 64 / sizeof(T);

// The length of a line of v and t for so many columns of K: whole vectors.
template <class T>
constexpr Int whole_lines(Int cols) {
  return (cols + few_columns<T> - 1) / few_columns<T> * few_columns<T>;
}

// Lines of numbers, `step` apart; data may be missing (nullptr): that product is not computed.
template <class T>
struct Lines {
  T* data;
  Int step;
};

// v, d and t have `columns` lines, w one for each row of k. What stands in v after k.cols numbers, up to
// whole_lines(k.cols), must be finite; what is written to t there has no meaning. in_order: the rows that follow k in
// memory are read next. S: T, or std::uint16_t for numbers in f16 (core/half.hpp), whose products are those of the same
// numbers in f32, to the bit.
template <class T, class S>
void few_products(View<S> k, Int columns, Lines<const T> v, Lines<const T> w, Lines<T> d, Lines<T> t, bool in_order);

}  // namespace kbcd::tiles
