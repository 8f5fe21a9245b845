// Strips: a dense matrix whose lines are summed with the weights of sparse rows: s(j) += Σ_e v_e m(p_e, j).
//
// The matrix is held in strips of `width` columns, each with all lines one after the other, so that what many sparse
// rows read of a strip stays in cache from row to row, on few pages; the sums of a strip stay in registers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/matrix.hpp"

namespace kbcd {

#if defined(__AVX512F__)
constexpr int strip_vector_bytes = 64;
#elif defined(__AVX__)
constexpr int strip_vector_bytes = 32;
#else
constexpr int strip_vector_bytes = 16;
#endif

template <class T>
class Strips {
 public:
  static constexpr int lanes = strip_vector_bytes / sizeof(T), vectors = 8;
  static constexpr Int width = vectors * lanes;
  typedef T Vector __attribute__((vector_size(strip_vector_bytes)));

  Strips() = default;
  Strips(Int lines, Int cols) : lines_(lines), cols_(cols), data_(Matrix::zeros(count() * lines, width, dtype_of<T>)) {}
  Int lines() const { return lines_; }
  Int count() const { return (cols_ + width - 1) / width; }
  Int columns(Int strip) const { return std::min(width, cols_ - strip * width); }  // of this strip
  T* line(Int strip, Int line) { return data_.template view<T>().data + (strip * lines_ + line) * width; }
  const T* line(Int strip, Int line) const { return data_.template view<T>().data + (strip * lines_ + line) * width; }

  // sums(j) += Σ_e add(v_e, m(p_e, j)) for e in [0, entries), p_e = places[e], v_e = values[e], over a strip. add takes
  // a number and a vector; sums has `width` numbers.
  template <class V, class Add>
  void add(Int strip, const std::int32_t* places, const V* values, Int entries, T* sums, Add&& add) const {
    const T* lines = line(strip, 0);
    using Stored [[gnu::aligned(sizeof(T)), gnu::may_alias]] = Vector;
    Vector s[vectors];
    for (int v = 0; v < vectors; ++v) s[v] = *reinterpret_cast<const Stored*>(sums + v * lanes);
    for (Int e = 0; e < entries; ++e) {
      const T *from = lines + places[e] * width, value = T(values[e]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) s[v] += add(value, Vector(*reinterpret_cast<const Stored*>(from + v * lanes)));
    }
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<Stored*>(sums + v * lanes) = s[v];
  }
  template <class V>
  void add_products(Int strip, const std::int32_t* places, const V* values, Int entries, T* sums) const {
    add(strip, places, values, entries, sums, [](T value, Vector line) { return value * line; });
  }

 private:
  Int lines_ = 0, cols_ = 0;
  Matrix data_;
};

}  // namespace kbcd
