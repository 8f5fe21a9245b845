#include "core/tiles.hpp"

#include <algorithm>
#include <cstring>

#include "core/timers.hpp"

namespace kbcd::tiles {
namespace {

constexpr Int depth_in_cache = 1024;      // longer sums are taken in parts, so that a panel of rows stays in L2
constexpr Int ahead = 8, far_ahead = 32;  // by how many k numbers are prefetched
constexpr int line_bytes = 64;

// One tile: c(i, j) = Σ_k a(i, k) b(k, j) + (accumulate ? c(i, j) : 0) for i < rows, j < vectors · lanes.
// a(i, k) is at a[k · group + i] when packed in groups, else (group = 0) at a[i · a_step + k]; b(k, ·) is at b[k ·
// b_step], asked for `fetch` k before.
template <class T, int bytes, int rows, int vectors, int group>
[[gnu::always_inline]] inline void tile(Int depth, const T* a, Int a_step, const T* b, Int b_step, Int fetch,
                                        bool accumulate, T* c, Int c_step) {
  typedef T Vector __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
  constexpr int lanes = bytes / sizeof(T);
  Vector sums[rows][vectors];
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v) __builtin_prefetch(c + i * c_step + v * lanes, 1);
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = accumulate ? *reinterpret_cast<Vector*>(c + i * c_step + v * lanes) : Vector{};
  for (Int k = 0; k < depth; ++k) {
    Vector right[vectors];
    for (int v = 0; v < vectors; ++v) {
      right[v] = *reinterpret_cast<const Vector*>(b + k * b_step + v * lanes);
      if (v * bytes % line_bytes == 0) __builtin_prefetch(b + (k + fetch) * b_step + v * lanes);
    }
    if (group > 0 && bytes == line_bytes) __builtin_prefetch(a + (k + ahead) * group);  // narrower: loads are scarce
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      T left = group > 0 ? a[k * group + i] : a[i * a_step + k];
      for (int v = 0; v < vectors; ++v) sums[i][v] += left * right[v];
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<Vector*>(c + i * c_step + v * lanes) = sums[i][v];
}

template <class T>
using TileFunction = void (*)(Int depth, const T* a, Int a_step, const T* b, Int b_step, Int fetch, bool accumulate,
                              T* c, Int c_step);

// The tiles for one kind of CPU: `group` rows, packed or in place, by up to `vectors` vectors of `lanes` columns. A
// group with fewer rows left uses a smaller tile.
template <class T>
struct Machine {
  const char* name;
  int lanes, vectors, group;
  TileFunction<T> packed[3][3], unpacked[3];  // by rows, by vectors

  struct Choice {
    Int rows;
    TileFunction<T> function;
  };
  Choice choose(Int rows, Int vectors) const {
    int size = rows <= 2 ? 0 : rows <= 4 ? 1 : 2;
    return {size == 0 ? 2 : size == 1 ? 4 : group, packed[size][vectors - 1]};
  }
};

constexpr int most_rows = 8, most_cols = 48;

#define KBCD_TILE(name, target, bytes, group)                                                                   \
  template <class T, int rows, int vectors>                                                                     \
  target void name(Int depth, const T* a, Int a_step, const T* b, Int b_step, Int fetch, bool accumulate, T* c, \
                   Int c_step) {                                                                                \
    tile<T, bytes, rows, vectors, group>(depth, a, a_step, b, b_step, fetch, accumulate, c, c_step);            \
  }
#ifdef __x86_64__
KBCD_TILE(avx512_packed, [[gnu::target("avx512f")]], 64, 8)
KBCD_TILE(avx512_unpacked, [[gnu::target("avx512f")]], 64, 0)
KBCD_TILE(avx2_packed, [[gnu::target("avx2,fma")]], 32, 6)
KBCD_TILE(avx2_unpacked, [[gnu::target("avx2,fma")]], 32, 0)
#endif
KBCD_TILE(any_packed, , 16, 4)
KBCD_TILE(any_unpacked, , 16, 0)
#undef KBCD_TILE

// The sets of tiles that this CPU can run, the fastest first.
template <class T>
const std::vector<Machine<T>>& machines() {
  static const std::vector<Machine<T>> all = [] {
    std::vector<Machine<T>> list;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
      list.push_back({"avx512",
                      64 / sizeof(T),
                      3,
                      8,
                      {{avx512_packed<T, 2, 1>, avx512_packed<T, 2, 2>, avx512_packed<T, 2, 3>},
                       {avx512_packed<T, 4, 1>, avx512_packed<T, 4, 2>, avx512_packed<T, 4, 3>},
                       {avx512_packed<T, 8, 1>, avx512_packed<T, 8, 2>, avx512_packed<T, 8, 3>}},
                      {avx512_unpacked<T, 8, 1>, avx512_unpacked<T, 8, 2>, avx512_unpacked<T, 8, 3>}});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      list.push_back({"avx2",
                      32 / sizeof(T),
                      2,
                      6,
                      {{avx2_packed<T, 2, 1>, avx2_packed<T, 2, 2>},
                       {avx2_packed<T, 4, 1>, avx2_packed<T, 4, 2>},
                       {avx2_packed<T, 6, 1>, avx2_packed<T, 6, 2>}},
                      {avx2_unpacked<T, 6, 1>, avx2_unpacked<T, 6, 2>}});
#endif
    list.push_back({"any cpu",
                    16 / sizeof(T),
                    2,
                    4,
                    {{any_packed<T, 2, 1>, any_packed<T, 2, 2>},
                     {any_packed<T, 4, 1>, any_packed<T, 4, 2>},
                     {any_packed<T, 4, 1>, any_packed<T, 4, 2>}},
                    {any_unpacked<T, 4, 1>, any_unpacked<T, 4, 2>}});
    return list;
  }();
  return all;
}

std::size_t chosen = 0;

template <class T>
const Machine<T>& machine() {
  return machines<T>()[chosen];
}

// compute(to, step) writes a whole tile; where c has fewer rows or columns left, into a separate buffer.
template <class T, class Compute>
void at_edge(View<T> c, Int tile_rows, Int tile_cols, bool accumulate, Compute&& compute) {
  if (c.rows >= tile_rows && c.cols >= tile_cols) return compute(c.data, c.ld);
  Int rows = std::min(c.rows, tile_rows), cols = std::min(c.cols, tile_cols);
  alignas(line_bytes) T tile[most_rows * most_cols] = {};
  for (Int i = 0; accumulate && i < rows; ++i) std::copy_n(c.line(i), cols, tile + i * tile_cols);
  compute(tile, tile_cols);
  for (Int i = 0; i < rows; ++i) std::copy_n(tile + i * tile_cols, cols, c.line(i));
}

template <class T>
View<T> corner(View<T> c, Int i, Int j) {
  return {c.data + i * c.ld + j, c.rows - i, c.cols - j, c.ld};
}

template <class T>
Int vectors_for(Int cols) {
  auto& m = machine<T>();
  return std::clamp<Int>((cols + m.lanes - 1) / m.lanes, 1, m.vectors);
}

}  // namespace

template <class T>
T* Scratch<T>::at_least(Int count) {
  std::size_t bytes = count * sizeof(T);
  if (!buffer_ || buffer_->bytes() < bytes) buffer_ = std::make_unique<Buffer>(bytes);
  return data();
}

template <class T>
Int Rows<T>::group_rows() {
  return machine<T>().group;
}

template <class T>
void Rows<T>::resize(Int rows, Int depth) {
  Int group = group_rows();
  rows_ = rows;
  depth_ = depth;
  packed_.at_least((rows + group - 1) / group * group * depth);
}

template <class T>
void Rows<T>::pack(View<T> a, T factor) {
  resize(a.rows, a.cols);
  for (Int i = 0, group = group_rows(); i < a.rows; i += group)
    set(i, std::min(group, a.rows - i), a.line(i), a.ld, factor);
}

template <class T>
void Rows<T>::set(Int first, Int count, const T* lines, Int ld, T factor) {
  Int group = group_rows();
  T* to = packed_.data() + first * depth_;
  if (count < group) std::fill_n(to, group * depth_, T(0));
  for (Int k = 0; k < depth_; ++k)
    for (Int i = 0; i < count; ++i) to[k * group + i] = factor * lines[i * ld + k];
}

template <class T>
Int Columns<T>::strip_cols() const {
  return vectors_ * machine<T>().lanes;
}

template <class T>
Columns<T>::Columns(View<T> b) : depth_(b.rows), cols_(b.cols), vectors_(vectors_for<T>(b.cols)) {
  Int wide = strip_cols(), strips = (cols_ + wide - 1) / wide;
  T* data = packed_.at_least(strips * wide * depth_);
  parallel_for(strips, depth_ * cols_, [&](Int s) {
    T* to = data + s * wide * depth_;
    Int count = std::min(wide, cols_ - s * wide);
    if (count < wide) std::fill_n(to, wide * depth_, T(0));
    if (b.transposed) {
      constexpr Int part = 16;  // of k at a time, so that what is read and written stays in cache
      for (Int k0 = 0; k0 < depth_; k0 += part)
        for (Int j = 0; j < count; ++j)
          for (Int k = k0; k < std::min(k0 + part, depth_); ++k) to[k * wide + j] = b.line(s * wide + j)[k];
    } else {
      for (Int k = 0; k < depth_; ++k) std::copy_n(b.line(k) + s * wide, count, to + k * wide);
    }
  });
}

template <class T>
void multiply(const Rows<T>& a, const Columns<T>& b, Int first, View<T> c) {
  auto& m = machine<T>();
  timers::operated(2.0 * c.rows * c.cols * a.depth());
  Int wide = b.strip_cols();
  Int parts = std::max<Int>(1, (a.depth() + depth_in_cache - 1) / depth_in_cache);
  Int part = (a.depth() + parts - 1) / parts;
  for (Int p = 0, k = 0; p < parts; ++p, k += part)
    for (Int j = 0; j < c.cols; j += wide)
      for (Int i = 0; i < c.rows; i += m.group) {
        auto [rows, function] = m.choose(c.rows - i, b.vectors());
        at_edge(corner(c, i, j), rows, wide, k > 0, [&, function = function](T* to, Int step) {
          function(std::min(part, a.depth() - k), a.group(i) + k * m.group, 0, b.strip(first + j) + k * wide, wide,
                   ahead, k > 0, to, step);
        });
      }
}

template <class T>
void multiply(View<T> a, const Columns<T>& b, View<T> c) {
  auto& m = machine<T>();
  Int wide = b.strip_cols(), whole = a.rows / m.group * m.group;
  auto function = m.unpacked[b.vectors() - 1];
  timers::operated(2.0 * whole * c.cols * a.cols);
  for (Int i = 0; i < whole; i += m.group)
    for (Int j = 0; j < c.cols; j += wide)
      at_edge(corner(c, i, j), m.group, wide, false,
              [&](T* to, Int step) { function(a.cols, a.line(i), a.ld, b.strip(j), wide, ahead, false, to, step); });
  if (whole == a.rows) return;
  thread_local Rows<T> rest;
  rest.pack(a.rows_from(whole, a.rows - whole));
  multiply(rest, b, 0, corner(c, whole, 0));
}

template <class T>
void multiply(const Rows<T>& a, View<T> b, bool accumulate, View<T> c) {
  auto& m = machine<T>();
  Int wide = m.vectors * m.lanes, whole = b.cols / wide * wide;
  timers::operated(2.0 * c.rows * b.cols * a.depth());
  auto strip = [&](const T* right, Int right_step, Int fetch, Int j) {
    for (Int i = 0; i < c.rows; i += m.group) {
      auto [rows, function] = m.choose(c.rows - i, m.vectors);
      at_edge(corner(c, i, j), rows, wide, accumulate, [&, function = function](T* to, Int step) {
        function(a.depth(), a.group(i), 0, right, right_step, fetch, accumulate, to, step);
      });
    }
  };
  for (Int j = 0; j < whole; j += wide) strip(b.data + j, b.ld, far_ahead, j);
  if (whole == b.cols) return;
  thread_local Scratch<T> scratch;  // the last columns, padded to a whole strip
  T* rest = scratch.at_least(b.rows * wide);
  std::fill_n(rest, b.rows * wide, T(0));
  for (Int k = 0; k < b.rows; ++k) std::copy_n(b.line(k) + whole, b.cols - whole, rest + k * wide);
  strip(rest, wide, ahead, whole);
}

template <class T>
Int row_stride(Int cols) {
  constexpr Int line = line_bytes / sizeof(T);
  Int lines = (cols + line - 1) / line;
  return (lines % 2 == 0 ? lines + 1 : lines) * line;  // an odd number of cache lines
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (auto& machine : machines<float>()) names.push_back(machine.name);
  return names;
}

const std::string& chosen_name() {
  static const std::vector<std::string> all = names();
  return all[chosen];
}

void choose(const std::string& name) {
  auto all = names();
  auto found = std::find(all.begin(), all.end(), name);
  require(found != all.end(), "tiles: one of {} expected, got {}", fmt::join(all, ", "), name);
  chosen = found - all.begin();
}

template class Scratch<float>;
template class Scratch<double>;
template class Scratch<std::int8_t>;
template class Scratch<std::uint8_t>;
template class Scratch<std::uint32_t>;
template class Rows<float>;
template class Rows<double>;
template class Columns<float>;
template class Columns<double>;
template void multiply(const Rows<float>&, const Columns<float>&, Int, View<float>);
template void multiply(const Rows<double>&, const Columns<double>&, Int, View<double>);
template void multiply(View<float>, const Columns<float>&, View<float>);
template void multiply(View<double>, const Columns<double>&, View<double>);
template void multiply(const Rows<float>&, View<float>, bool, View<float>);
template void multiply(const Rows<double>&, View<double>, bool, View<double>);
template Int row_stride<float>(Int);
template Int row_stride<double>(Int);

}  // namespace kbcd::tiles
