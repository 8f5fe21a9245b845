#include "core/half.hpp"

#include <Eigen/Core>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace kbcd::half {

using Halves = Eigen::Map<Eigen::Array<Eigen::half, Eigen::Dynamic, 1>>;
using Floats = Eigen::Map<const Eigen::ArrayXf>;

bool pack(const float* from, std::uint16_t* to, Int count) {
  Floats numbers(from, count);
  Halves(reinterpret_cast<Eigen::half*>(to), count) = numbers.cast<Eigen::half>();
  return count == 0 || numbers.abs().maxCoeff() <= largest;
}

namespace {

void unpack_any(const std::uint16_t* from, float* to, Int count) {
  Eigen::Map<Eigen::ArrayXf>(to, count) =
      Eigen::Map<const Eigen::Array<Eigen::half, Eigen::Dynamic, 1>>(reinterpret_cast<const Eigen::half*>(from), count)
          .cast<float>();
}

#ifdef __x86_64__
[[gnu::target("avx512f")]] void unpack_avx512(const std::uint16_t* from, float* to, Int count) {
  Int i = 0;
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
  unpack_any(from + i, to + i, count - i);
}

[[gnu::target("avx,f16c")]] void unpack_f16c(const std::uint16_t* from, float* to, Int count) {
  Int i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  unpack_any(from + i, to + i, count - i);
}
#endif

auto* fastest_unpack() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return unpack_avx512;
  // All CPUs with AVX2 have F16C, which clang 14 does not know by name.
  if (__builtin_cpu_supports("avx2")) return unpack_f16c;
#endif
  return unpack_any;
}

}  // namespace

void unpack(const std::uint16_t* from, float* to, Int count) {
  static auto* const function = fastest_unpack();
  function(from, to, count);
}

}  // namespace kbcd::half
