#include "core/walsh_hadamard.hpp"

#include <bit>
#include <utility>

#include "core/error.hpp"

namespace kbcd {
namespace {

#ifdef __AVX512F__
constexpr int bytes = 64;
#else
constexpr int bytes = 32;
#endif
constexpr Int bytes_in_cache = 16 << 10;  // longer ones are halved first

template <class T>
struct Lanes {
  static constexpr int count = bytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));

  // v'(l) = v(l) + v(l ^ step) where l has not that bit, else v(l ^ step) − v(l).
  template <int step, std::size_t... l>
  [[gnu::always_inline]] static void stage(Vector& v, std::index_sequence<l...>) {
    constexpr Vector sign = {(l & step ? T(-1) : T(1))...};
    v = __builtin_shufflevector(v, v, (l ^ step)...) + sign * v;
  }
  [[gnu::always_inline]] static void within(Vector& v) {  // all stages within a vector
    constexpr std::make_index_sequence<count> all;
    stage<1>(v, all);
    stage<2>(v, all);
    if constexpr (count > 4) stage<4>(v, all);
    if constexpr (count > 8) stage<8>(v, all);
  }
};

// Two stages at once on vectors that are `step` vectors apart; before them, with `first`, those within each vector.
template <bool first, class T>
void two_stages(T* y, Int vectors, Int step) {
  using Vector = typename Lanes<T>::Vector;
  auto* v = reinterpret_cast<Vector*>(y);
  for (Int start = 0; start < vectors; start += 4 * step)
    for (Int i = start; i < start + step; ++i) {
      Vector a = v[i], b = v[i + step], c = v[i + 2 * step], d = v[i + 3 * step];
      if constexpr (first) Lanes<T>::within(a), Lanes<T>::within(b), Lanes<T>::within(c), Lanes<T>::within(d);
      Vector ab = a + b, a_b = a - b, cd = c + d, c_d = c - d;
      v[i] = ab + cd, v[i + step] = a_b + c_d, v[i + 2 * step] = ab - cd, v[i + 3 * step] = a_b - c_d;
    }
}

template <class T>
void one_stage(T* y, Int n, Int step) {
  for (Int start = 0; start < n; start += 2 * step)
    for (Int i = start; i < start + step; ++i) {
      T a = y[i], b = y[i + step];
      y[i] = a + b, y[i + step] = a - b;
    }
}

template <class T>
void transform(T* y, Int n) {
  constexpr Int lanes = Lanes<T>::count;
  if (n * Int(sizeof(T)) > bytes_in_cache) {
    one_stage(y, n, n / 2);
    transform(y, n / 2);
    return transform(y + n / 2, n / 2);
  }
  Int step = 1;
  if (n >= 4 * lanes) {
    two_stages<true>(y, n / lanes, 1);
    for (step = 4 * lanes; 4 * step <= n; step *= 4) two_stages<false>(y, n / lanes, step / lanes);
  }
  for (; step < n; step *= 2) one_stage(y, n, step);
}

}  // namespace

template <class T>
void walsh_hadamard(T* y, Int n) {
  require(n >= 1 && std::has_single_bit(static_cast<std::uint64_t>(n)),
          "walsh_hadamard: a power of two expected, got {} numbers", n);
  transform(y, n);
}

template void walsh_hadamard(float*, Int);
template void walsh_hadamard(double*, Int);

}  // namespace kbcd
