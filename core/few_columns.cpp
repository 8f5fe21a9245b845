#include "core/few_columns.hpp"

#include <algorithm>
#include <utility>

#include "core/tiles.hpp"
#include "core/timers.hpp"

namespace kbcd::tiles {
namespace {

constexpr int line_bytes = 64;
constexpr Int step_rows = 16;    // that stay in cache for their second product
constexpr int most_at_once = 6;  // columns in registers
constexpr int direct_rows = 4;   // rows of K in registers

template <class T, int bytes>
struct Vectors {
  typedef T Vector __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
  static constexpr int lanes = bytes / sizeof(T);

  [[gnu::always_inline]] static const Vector& at(const T* p) { return *reinterpret_cast<const Vector*>(p); }
  [[gnu::always_inline]] static Vector& at(T* p) { return *reinterpret_cast<Vector*>(p); }

  // x and y have `parts` runs of lanes each; every run is folded in two, and those of y follow those of x.
  template <int parts, std::size_t... i>
  [[gnu::always_inline]] static void fold(const Vector& x, const Vector& y, std::index_sequence<i...>, Vector& to) {
    constexpr int run = lanes / parts, half = run / 2;
    to = __builtin_shufflevector(x, y, static_cast<int>(i) / half * run + static_cast<int>(i) % half...) +
         __builtin_shufflevector(x, y, static_cast<int>(i) / half * run + static_cast<int>(i) % half + half...);
  }

  // Adds the sums of four vectors to four numbers.
  [[gnu::always_inline]] static void add_sums(const Vector& a, const Vector& b, const Vector& c, const Vector& d,
                                              T* to) {
    constexpr auto all = std::make_index_sequence<lanes>();
    Vector x, y;
    fold<1>(a, b, all, x);
    fold<1>(c, d, all, y);
    if constexpr (lanes == 2) {
      at(to) += x;
      at(to + 2) += y;
    } else {
      fold<2>(x, y, all, x);
      if constexpr (lanes >= 8) fold<4>(x, x, all, x);
      if constexpr (lanes >= 16) fold<8>(x, x, all, x);
      for (int i = 0; i < 4; ++i) to[i] += x[i];
    }
  }
};

// The rows that are used next, which every round of the loops below asks memory for a little of, so that reading and
// arithmetic overlap all the time.
struct Ahead {
  const char* next;
  Int step;   // bytes a round
  int lines;  // cache lines a round: step, rounded up

  [[gnu::always_inline]] void ask() {
    for (int i = 0; i < lines; ++i) __builtin_prefetch(next + i * line_bytes, 0, 3);
    next += step;
  }
};

// d(j, i) += Σ_c k(i, c) v(j, c) for i < rows (4 or 1) and j < count, over whole vectors of c.
template <class T, int bytes, int count, int rows>
[[gnu::always_inline]] inline void direct(Int cols, const T* k, Int k_step, Lines<const T> v, Ahead& shared,
                                          Lines<T> d) {
  using V = Vectors<T, bytes>;
  typename V::Vector sums[count][rows] = {};
  Ahead ahead = shared;
  for (Int c = 0; c < cols; c += V::lanes) {
    typename V::Vector left[rows];
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) left[i] = V::at(k + i * k_step + c);
    ahead.ask();
#pragma GCC unroll 6
    for (int j = 0; j < count; ++j) {
      typename V::Vector right = V::at(v.data + j * v.step + c);
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) sums[j][i] += left[i] * right;
    }
  }
  shared = ahead;
#pragma GCC unroll 6
  for (int j = 0; j < count; ++j) {
    T all[4] = {};
    T* to = rows == 4 ? d.data + j * d.step : all;
    V::add_sums(sums[j][0], sums[j][1 % rows], sums[j][2 % rows], sums[j][3 % rows], to);
    if (rows == 1) d.data[j * d.step] += all[0];
  }
}

// t(j, c) += Σ_i w(i, j) k(i, c) for j < count and c < vectors · lanes.
template <class T, int bytes, int count, int vectors>
[[gnu::always_inline]] inline void transposed(Int rows, const T* k, Int k_step, const T* w, Ahead& shared, Lines<T> t) {
  using V = Vectors<T, bytes>;
  constexpr int lanes = V::lanes, width = line_bytes / sizeof(T);
  typename V::Vector sums[count][vectors];
#pragma GCC unroll 6
  for (int j = 0; j < count; ++j)
#pragma GCC unroll 4
    for (int x = 0; x < vectors; ++x) sums[j][x] = V::at(t.data + j * t.step + x * lanes);
  Ahead ahead = shared;
  for (Int i = 0; i < rows; ++i) {
    typename V::Vector right[vectors];
#pragma GCC unroll 4
    for (int x = 0; x < vectors; ++x) right[x] = V::at(k + i * k_step + x * lanes);
    ahead.ask();
#pragma GCC unroll 6
    for (int j = 0; j < count; ++j)
#pragma GCC unroll 4
      for (int x = 0; x < vectors; ++x) sums[j][x] += w[i * width + j] * right[x];
  }
  shared = ahead;
#pragma GCC unroll 6
  for (int j = 0; j < count; ++j)
#pragma GCC unroll 4
    for (int x = 0; x < vectors; ++x) V::at(t.data + j * t.step + x * lanes) = sums[j][x];
}

template <class T>
using Direct = void (*)(Int cols, const T* k, Int k_step, Lines<const T> v, Ahead& ahead, Lines<T> d);
template <class T>
using Transposed = void (*)(Int rows, const T* k, Int k_step, const T* w, Ahead& ahead, Lines<T> t);

// The products for one kind of CPU, by the number of columns.
template <class T>
struct Machine {
  Int lanes, at_once, vectors;
  Direct<T> rows[most_at_once], row[most_at_once];         // direct_rows rows, and one
  Transposed<T> wide[most_at_once], narrow[most_at_once];  // `vectors` vectors, and one
};

#define KBCD_PRODUCTS(name, target, bytes, at_once, vectors_)                                                  \
  template <class T>                                                                                           \
  struct name {                                                                                                \
    template <int count, int rows>                                                                             \
    target static void rows_of(Int cols, const T* k, Int k_step, Lines<const T> v, Ahead& ahead, Lines<T> d) { \
      direct<T, bytes, count, rows>(cols, k, k_step, v, ahead, d);                                             \
    }                                                                                                          \
    template <int count, int vectors>                                                                          \
    target static void columns_of(Int rows, const T* k, Int k_step, const T* w, Ahead& ahead, Lines<T> t) {    \
      transposed<T, bytes, count, vectors>(rows, k, k_step, w, ahead, t);                                      \
    }                                                                                                          \
    template <int rows, std::size_t... j>                                                                      \
    static constexpr void add_rows(Direct<T>* list, std::index_sequence<j...>) {                               \
      ((list[j] = rows_of<j + 1, rows>), ...);                                                                 \
    }                                                                                                          \
    template <int vectors, std::size_t... j>                                                                   \
    static constexpr void add_columns(Transposed<T>* list, std::index_sequence<j...>) {                        \
      ((list[j] = columns_of<j + 1, vectors>), ...);                                                           \
    }                                                                                                          \
    static constexpr Machine<T> make() {                                                                       \
      Machine<T> m{bytes / sizeof(T), at_once, vectors_, {}, {}, {}, {}};                                      \
      auto counts = std::make_index_sequence<at_once>();                                                       \
      add_rows<direct_rows>(m.rows, counts);                                                                   \
      add_rows<1>(m.row, counts);                                                                              \
      add_columns<vectors_>(m.wide, counts);                                                                   \
      add_columns<1>(m.narrow, counts);                                                                        \
      return m;                                                                                                \
    }                                                                                                          \
    static constexpr Machine<T> machine = make();                                                              \
  };
#ifdef __x86_64__
KBCD_PRODUCTS(Avx512, [[gnu::target("avx512f")]], 64, 6, 4)
KBCD_PRODUCTS(Avx2, [[gnu::target("avx2,fma")]], 32, 3, 4)
#endif
KBCD_PRODUCTS(AnyCpu, , 16, 3, 4)
#undef KBCD_PRODUCTS

template <class T>
const Machine<T>& machine() {
#ifdef __x86_64__
  auto& name = chosen_name();
  if (name == "avx512") return Avx512<T>::machine;
  if (name == "avx2") return Avx2<T>::machine;
#endif
  return AnyCpu<T>::machine;
}

}  // namespace

template <class T>
void few_products(View<T> k, Int columns, Lines<const T> v, const T* w, Lines<T> d, Lines<T> t, bool in_order) {
  auto& m = machine<T>();
  timers::operated(2.0 * k.rows * k.cols * columns * ((d.data != nullptr) + (t.data != nullptr)));
  Int parts = (columns + m.at_once - 1) / m.at_once, wide = m.vectors * m.lanes, whole = k.cols / m.lanes * m.lanes;
  for (Int j = 0; j < columns; ++j) {
    if (d.data) std::fill_n(d.data + j * d.step, k.rows, T(0));
    if (t.data) std::fill_n(t.data + j * t.step, whole_lines<T>(k.cols), T(0));
  }
  T last[step_rows * few_columns<T>];  // of a few rows: the columns that do not fill a vector, and zeros
  for (Int first = 0; first < k.rows; first += step_rows) {
    Int rows = std::min(step_rows, k.rows - first);
    const T* lines = k.line(first);
    if (whole < k.cols)
      for (Int i = 0; i < rows; ++i)
        std::fill(std::copy_n(lines + i * k.ld + whole, k.cols - whole, last + i * m.lanes), last + (i + 1) * m.lanes,
                  T(0));
    Ahead ahead{}, nothing{};
    if (in_order) {
      Int rounds = parts * ((d.data ? rows / direct_rows * whole / m.lanes : 0) + (t.data ? rows * whole / wide : 0));
      Int bytes = rows * k.ld * static_cast<Int>(sizeof(T)), step = bytes / std::max<Int>(1, rounds) + 1;
      ahead = {reinterpret_cast<const char*>(lines + rows * k.ld), step, static_cast<int>((step + 48) / line_bytes)};
    }
    for (Int part = 0, j = 0, count; part < parts; ++part, j += count) {
      count = (columns - j + parts - part - 1) / (parts - part);
      Lines<const T> right{v.data + j * v.step, v.step};
      for (Int i = 0, step; d.data && i < rows; i += step) {
        step = rows - i >= direct_rows ? direct_rows : 1;
        auto product = (step == 1 ? m.row : m.rows)[count - 1];
        Lines<T> to{d.data + j * d.step + first + i, d.step};
        product(whole, lines + i * k.ld, k.ld, right, ahead, to);
        if (whole < k.cols) product(m.lanes, last + i * m.lanes, m.lanes, {right.data + whole, v.step}, nothing, to);
      }
      for (Int c = 0, step; t.data && c < k.cols; c += step) {
        step = c + wide <= whole ? wide : m.lanes;
        auto product = (step == wide ? m.wide : m.narrow)[count - 1];
        Lines<T> to{t.data + j * t.step + c, t.step};
        const T* weights = w + first * few_columns<T> + j;
        if (c < whole)
          product(rows, lines + c, k.ld, weights, ahead, to);
        else
          product(rows, last, m.lanes, weights, nothing, to);
      }
    }
  }
}

template void few_products(View<float>, Int, Lines<const float>, const float*, Lines<float>, Lines<float>, bool);
template void few_products(View<double>, Int, Lines<const double>, const double*, Lines<double>, Lines<double>, bool);

}  // namespace kbcd::tiles
