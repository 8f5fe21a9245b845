#include "core/few_columns.hpp"

#include <algorithm>
#include <utility>

#include "core/half.hpp"
#include "core/tiles.hpp"
#include "core/timers.hpp"

namespace kbcd::tiles {
namespace {

constexpr int line_bytes = 64;
constexpr Int step_rows = 16;    // that stay in cache for their second product
constexpr int most_at_once = 6;  // columns in registers
constexpr int direct_rows = 4;   // rows of K in registers
constexpr Int most_cols = 512;   // of these rows

template <class T, int bytes>
struct Vectors {
  typedef T Vector __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
  static constexpr int lanes = bytes / sizeof(T);

  [[gnu::always_inline]] static const Vector& at(const T* p) { return *reinterpret_cast<const Vector*>(p); }
  [[gnu::always_inline]] static Vector& at(T* p) { return *reinterpret_cast<Vector*>(p); }

  // Of x and y, which have `parts` runs of lanes each: every run folded in two, by turns those of x and of y. The
  // halves that stay in their lanes are blended, which is cheaper than a shuffle.
  template <int parts, std::size_t... i>
  [[gnu::always_inline]] static Vector fold(const Vector& x, const Vector& y, std::index_sequence<i...>) {
    constexpr int half = lanes / parts / 2;
    constexpr auto is_y = [](int lane) { return lane / half % 2 == 1; };
    return __builtin_shufflevector(x, y, (is_y(i) ? lanes + static_cast<int>(i) : static_cast<int>(i))...) +
           __builtin_shufflevector(x, y,
                                   (is_y(i) ? lanes + static_cast<int>(i) - half : static_cast<int>(i) + half)...);
  }

  // x plus x with its runs of `run` lanes exchanged in pairs.
  template <int run, std::size_t... i>
  [[gnu::always_inline]] static Vector paired(const Vector& x, std::index_sequence<i...>) {
    return x + __builtin_shufflevector(x, x, (static_cast<int>(i) ^ run)...);
  }

  // Adds the sums of four vectors to four numbers.
  [[gnu::always_inline]] static void add_sums(const Vector& a, const Vector& b, const Vector& c, const Vector& d,
                                              T* to) {
    constexpr auto all = std::make_index_sequence<lanes>();
    if constexpr (lanes == 2) {
      at(to) += fold<1>(a, b, all);
      at(to + 2) += fold<1>(c, d, all);
    } else {
      typedef T Four __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
      constexpr int run = lanes / 4;
      Vector x = fold<2>(fold<1>(a, c, all), fold<1>(b, d, all), all);  // a quarter of each
      if constexpr (run >= 4) x = paired<2>(x, all);
      if constexpr (run >= 2) x = paired<1>(x, all);
      *reinterpret_cast<Four*>(to) += __builtin_shufflevector(x, x, 0, run, 2 * run, 3 * run);
    }
  }
};

// The part of rows that is used next, which every round of the loops below asks memory for a little of, so that reading
// and arithmetic overlap all the time.
struct Ahead {
  const char *next, *end;  // in the row
  Int step, skip, row;     // bytes a round, from the end of a row to the next row, and from row to row
  int lines;               // cache lines a round: step, rounded up

  [[gnu::always_inline]] void ask() {
    for (int i = 0; i < lines; ++i) __builtin_prefetch(next + i * line_bytes, 0, 3);
    next += step;
    if (next >= end) {
      next += skip;
      end += row;
    }
  }
};

// `rounds` rounds that ask for `rows` rows of `bytes` bytes, `row` bytes apart; no rows: lines = 0.
template <class S>
Ahead asking(const S* first, Int rows, Int bytes, Int row, Int rounds) {
  auto* next = reinterpret_cast<const char*>(first);
  Int step = rows * bytes / std::max<Int>(1, rounds) + 1;
  int lines = first ? static_cast<int>((step + line_bytes - 16) / line_bytes) : 0;
  return {next, next + bytes, step, row - bytes, row, lines};
}

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
[[gnu::always_inline]] inline void transposed(Int rows, const T* k, Int k_step, Lines<const T> w, Ahead& shared,
                                              Lines<T> t) {
  using V = Vectors<T, bytes>;
  constexpr int lanes = V::lanes;
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
      for (int x = 0; x < vectors; ++x) sums[j][x] += w.data[i * w.step + j] * right[x];
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
using Transposed = void (*)(Int rows, const T* k, Int k_step, Lines<const T> w, Ahead& ahead, Lines<T> t);

// The products for one kind of CPU, by the number of columns.
template <class T>
struct Machine {
  Int lanes, at_once, vectors;
  Direct<T> rows[most_at_once], row[most_at_once];         // direct_rows rows, and one
  Transposed<T> wide[most_at_once], narrow[most_at_once];  // `vectors` vectors, and one
};

#define KBCD_PRODUCTS(name, target, bytes, at_once, vectors_)                                                     \
  template <class T>                                                                                              \
  struct name {                                                                                                   \
    template <int count, int rows>                                                                                \
    target static void rows_of(Int cols, const T* k, Int k_step, Lines<const T> v, Ahead& ahead, Lines<T> d) {    \
      direct<T, bytes, count, rows>(cols, k, k_step, v, ahead, d);                                                \
    }                                                                                                             \
    template <int count, int vectors>                                                                             \
    target static void columns_of(Int rows, const T* k, Int k_step, Lines<const T> w, Ahead& ahead, Lines<T> t) { \
      transposed<T, bytes, count, vectors>(rows, k, k_step, w, ahead, t);                                         \
    }                                                                                                             \
    template <int rows, std::size_t... j>                                                                         \
    static constexpr void add_rows(Direct<T>* list, std::index_sequence<j...>) {                                  \
      ((list[j] = rows_of<j + 1, rows>), ...);                                                                    \
    }                                                                                                             \
    template <int vectors, std::size_t... j>                                                                      \
    static constexpr void add_columns(Transposed<T>* list, std::index_sequence<j...>) {                           \
      ((list[j] = columns_of<j + 1, vectors>), ...);                                                              \
    }                                                                                                             \
    static constexpr Machine<T> make() {                                                                          \
      Machine<T> m{bytes / sizeof(T), at_once, vectors_, {}, {}, {}, {}};                                         \
      auto counts = std::make_index_sequence<at_once>();                                                          \
      add_rows<direct_rows>(m.rows, counts);                                                                      \
      add_rows<1>(m.row, counts);                                                                                 \
      add_columns<vectors_>(m.wide, counts);                                                                      \
      add_columns<1>(m.narrow, counts);                                                                           \
      return m;                                                                                                   \
    }                                                                                                             \
    static constexpr Machine<T> machine = make();                                                                 \
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

// Some rows of K as numbers of T: in place but for the columns that do not fill a vector, or converted from f16.
template <class T>
struct RowsInCache {
  static constexpr Int ld_here = most_cols + few_columns<T>;

  const T* lines;  // `whole` columns of each row
  Int ld, whole;
  alignas(line_bytes) T last[step_rows * few_columns<T>];  // then the other columns and zeros, a vector for each row
  alignas(line_bytes) T converted[step_rows * ld_here];

  void set(View<T> k, Int lanes) {
    lines = k.data;
    ld = k.ld;
    whole = k.cols / lanes * lanes;
    for (Int i = 0; whole < k.cols && i < k.rows; ++i)
      std::fill(std::copy_n(k.line(i) + whole, k.cols - whole, last + i * lanes), last + (i + 1) * lanes, T(0));
  }

  void set(View<std::uint16_t> k, Int lanes) {
    for (Int i = 0; i < k.rows; ++i) half::unpack(k.line(i), converted + i * ld_here, k.cols);
    set(View<T>{converted, k.rows, k.cols, ld_here}, lanes);
  }
};

}  // namespace

template <class T, class S>
void few_products(View<S> k, Int columns, Lines<const T> v, Lines<const T> w, Lines<T> d, Lines<T> t, bool in_order) {
  auto& m = machine<T>();
  timers::operated(2.0 * k.rows * k.cols * columns * ((d.data != nullptr) + (t.data != nullptr)));
  Int parts = (columns + m.at_once - 1) / m.at_once, wide = m.vectors * m.lanes;
  for (Int j = 0; j < columns; ++j) {
    if (d.data) std::fill_n(d.data + j * d.step, k.rows, T(0));
    if (t.data) std::fill_n(t.data + j * t.step, whole_lines<T>(k.cols), T(0));
  }
  Int strip = t.data ? most_cols / 2 : most_cols, steps = (k.rows + step_rows - 1) / step_rows;
  Int strips = (k.cols + strip - 1) / strip;
  // The rows of one step, in one strip of columns; steps follow each other down the strip.
  auto part_of_k = [&](Int step) {
    Int s = step / steps, first = step % steps * step_rows;
    return k.rows_from(first, std::min(step_rows, k.rows - first))
        .cols_from(s * strip, std::min(strip, k.cols - s * strip));
  };
  RowsInCache<T> in;
  for (Int step = 0; step < steps * strips; ++step) {
    View<S> here = part_of_k(step);
    Int first = step % steps * step_rows, left = step / steps * strip;
    in.set(here, m.lanes);
    bool ends = step + 1 == steps * strips;
    View<S> next = ends ? View<S>{in_order ? k.line(k.rows) : nullptr, step_rows, std::min(strip, k.cols), k.ld}
                        : part_of_k(step + 1);
    Int rounds = parts * ((d.data ? here.rows / direct_rows * in.whole / m.lanes : 0) +
                          (t.data ? here.rows * in.whole / wide : 0));
    Ahead nothing{}, ahead = asking(next.data, next.rows, next.cols * static_cast<Int>(sizeof(S)),
                                    next.ld * static_cast<Int>(sizeof(S)), rounds);
    for (Int part = 0, j = 0, count; part < parts; ++part, j += count) {
      count = (columns - j + parts - part - 1) / (parts - part);
      for (Int i = 0, rows; d.data && i < here.rows; i += rows) {
        rows = here.rows - i >= direct_rows ? direct_rows : 1;
        auto product = (rows == 1 ? m.row : m.rows)[count - 1];
        Lines<const T> right{v.data + j * v.step + left, v.step};
        Lines<T> to{d.data + j * d.step + first + i, d.step};
        product(in.whole, in.lines + i * in.ld, in.ld, right, ahead, to);
        if (in.whole < here.cols)
          product(m.lanes, in.last + i * m.lanes, m.lanes, {right.data + in.whole, v.step}, nothing, to);
      }
      for (Int c = 0, cols; t.data && c < here.cols; c += cols) {
        cols = c + wide <= in.whole ? wide : m.lanes;
        auto product = (cols == wide ? m.wide : m.narrow)[count - 1];
        Lines<T> to{t.data + j * t.step + left + c, t.step};
        Lines<const T> weights{w.data + first * w.step + j, w.step};
        if (c < in.whole)
          product(here.rows, in.lines + c, in.ld, weights, ahead, to);
        else
          product(here.rows, in.last, m.lanes, weights, nothing, to);
      }
    }
  }
}

#define KBCD_FEW_PRODUCTS(T, S) \
  template void few_products(View<S>, Int, Lines<const T>, Lines<const T>, Lines<T>, Lines<T>, bool);
KBCD_FEW_PRODUCTS(float, float)
KBCD_FEW_PRODUCTS(float, std::uint16_t)
KBCD_FEW_PRODUCTS(double, double)
#undef KBCD_FEW_PRODUCTS

}  // namespace kbcd::tiles
