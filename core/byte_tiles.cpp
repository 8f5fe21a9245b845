#include "core/byte_tiles.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "core/timers.hpp"

namespace kbcd::tiles {
namespace {

constexpr Int line_bytes = 64;
constexpr Int depth_in_cache = 1024;  // longer sums are taken in parts, so that a strip of columns stays in cache
constexpr Int ahead = 8;              // by how many fours the columns are prefetched

// One tile: c(i, j) = Σ over `quads` fours (+ c(i, j) if accumulate), of `rows` rows that lie a_step bytes apart, by
// vectors · lanes columns of a strip.
using TileFunction = void (*)(Int quads, const std::uint8_t* a, Int a_step, const std::int8_t* b, bool accumulate,
                              std::uint32_t* c, Int c_step);

struct Machine {
  const char* name;
  Int rows, cols;
  TileFunction tile;
};

#ifdef __x86_64__
// Four bytes as a vector has them, without the rules of types.
inline int four_bytes(const std::uint8_t* at) {
  int four = 0;
  std::memcpy(&four, at, sizeof four);
  return four;
}

// AVX-VNNI, which the compilers do not all know by name.
bool has_avx_vnni() {
  constexpr unsigned bit = 1 << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & bit);
}

// The sums stay in registers, for which every loop over them has to be unrolled.
#define KBCD_EACH(i, count) _Pragma("GCC unroll 16") for (int i = 0; i < (count); ++i)
#define KBCD_BYTE_TILE(function, target, Vector, rows, vectors, load, store, spread, multiply, add)               \
  target void function(Int quads, const std::uint8_t* a, Int a_step, const std::int8_t* b, bool accumulate,       \
                       std::uint32_t* c, Int c_step) {                                                            \
    constexpr Int lanes = sizeof(Vector) / 4;                                                                     \
    Vector sums[rows][vectors];                                                                                   \
    KBCD_EACH(i, rows) KBCD_EACH(v, vectors) sums[i][v] = Vector{};                                               \
    for (Int q = 0; q < quads; ++q, b += byte_strip * 4) {                                                        \
      Vector right[vectors];                                                                                      \
      KBCD_EACH(v, vectors) {                                                                                     \
        right[v] = load(reinterpret_cast<const Vector*>(b + v * lanes * 4));                                      \
        if (v * sizeof(Vector) % line_bytes == 0) __builtin_prefetch(b + ahead * byte_strip * 4 + v * lanes * 4); \
      }                                                                                                           \
      KBCD_EACH(i, rows) {                                                                                        \
        Vector left = spread(four_bytes(a + i * a_step + q * 4));                                                 \
        KBCD_EACH(v, vectors) sums[i][v] = multiply(sums[i][v], left, right[v]);                                  \
      }                                                                                                           \
    }                                                                                                             \
    KBCD_EACH(i, rows) KBCD_EACH(v, vectors) {                                                                    \
      auto* to = reinterpret_cast<Vector*>(c + i * c_step + v * lanes);                                           \
      if (accumulate) sums[i][v] = add(sums[i][v], load(to));                                                     \
      store(to, sums[i][v]);                                                                                      \
    }                                                                                                             \
  }
KBCD_BYTE_TILE(avx512_tile, [[gnu::target("avx512f,avx512bw,avx512vnni")]], __m512i, 8, 3, _mm512_loadu_si512,
               _mm512_storeu_si512, _mm512_set1_epi32, _mm512_dpbusd_epi32, _mm512_add_epi32)
KBCD_BYTE_TILE(avx_tile, [[gnu::target("avx2,avxvnni")]], __m256i, 4, 3, _mm256_loadu_si256, _mm256_storeu_si256,
               _mm256_set1_epi32, _mm256_dpbusd_avx_epi32, _mm256_add_epi32)
#undef KBCD_BYTE_TILE
#undef KBCD_EACH
#endif

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = [] {
    std::vector<Machine> list;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw"))
      list.push_back({"avx512 vnni", 8, 48, avx512_tile});
    if (has_avx_vnni() && __builtin_cpu_supports("avx2")) list.push_back({"avx vnni", 4, 24, avx_tile});
#endif
    return list;
  }();
  return all;
}

std::size_t chosen = 0;  // beyond the last: none

Int whole(Int count, Int of) {
  return (count + of - 1) / of * of;
}

}  // namespace

void ByteRows::resize(Int rows, Int depth) {
  rows_ = rows;
  depth_ = depth;
  step_ = row_stride<float>((depth + 3) / 4) * 4;
  packed_.at_least(whole(rows, byte_group) * step_);
  for (Int i = 0; i < rows; ++i) std::fill(row(i) + depth, row(i) + step_, 0);
}

ByteColumns::ByteColumns(const ByteRows& b) : cols_(b.rows()), quads_((b.depth() + 3) / 4) {
  Int strips = whole(cols_, byte_strip) / byte_strip;
  std::int8_t* data = packed_.at_least(strips * byte_strip * quads_ * 4);
  parallel_for(strips, cols_ * b.depth(), [&](Int s) {
    std::int8_t* to = data + s * byte_strip * quads_ * 4;
    for (Int j = 0; j < byte_strip; ++j) {
      Int row = s * byte_strip + j;
      for (Int k = 0; k < quads_ * 4; ++k)
        to[(k / 4 * byte_strip + j) * 4 + k % 4] =
            static_cast<std::int8_t>(row < cols_ && k < b.depth() ? b.row(row)[k] - 128 : 0);
    }
  });
}

void multiply(const ByteRows& a, const ByteColumns& b, Int first, Int from, Int to, View<std::uint32_t> c) {
  auto& m = machines()[chosen];
  timers::operated(2.0 * static_cast<double>(std::min(c.rows, a.rows())) *
                   static_cast<double>(std::min(c.cols, b.cols() - first)) * static_cast<double>(to - from));
  Int begin = from / 4, quads = (to + 3) / 4 - begin;
  Int parts = std::max<Int>(1, (quads * 4 + depth_in_cache - 1) / depth_in_cache), part = (quads + parts - 1) / parts;
  for (Int j = 0; j < c.cols; j += byte_strip)
    for (Int q = 0; q < quads; q += part)
      for (Int v = 0; v < byte_strip; v += m.cols)
        for (Int i = 0; i < c.rows; i += m.rows)
          m.tile(std::min(part, quads - q), a.row(i) + (begin + q) * 4, a.step(),
                 b.strip(first + j) + ((begin + q) * byte_strip + v) * 4, q > 0, c.line(i) + j + v, c.ld);
}

std::vector<std::string> byte_names() {
  std::vector<std::string> names;
  for (auto& machine : machines()) names.push_back(machine.name);
  return names;
}

bool multiplies_bytes() {
  return chosen < machines().size();
}

void choose_bytes(const std::string& name) {
  auto all = byte_names();
  all.push_back("none");
  auto found = std::find(all.begin(), all.end(), name);
  require(found != all.end(), "tiles: one of {} expected, got {}", fmt::join(all, ", "), name);
  chosen = found - all.begin();
}

}  // namespace kbcd::tiles
