// Tiled products against Eigen's, on every kind of tile that this CPU can run; f16 against its definition.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "core/few_columns.hpp"
#include "core/half.hpp"
#include "core/tiles.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

double sample(Int i, Int j) {
  return std::sin(static_cast<double>(3 * i + 7 * j + 1));
}

template <class T>
Matrix filled(Int rows, Int cols, Int shift) {
  Matrix m(rows, cols, dtype_of<T>);
  for (Int i = 0; i < rows; ++i)
    for (Int j = 0; j < cols; ++j) m.set(i, j, sample(i + shift, j));
  return m;
}

// `start` on top of the expected product of `depth` terms.
template <class T>
void check(View<T> got, const Dense& expected, double start, Int depth, const std::string& what) {
  double worst = 0;
  for (Int i = 0; i < got.rows; ++i)
    for (Int j = 0; j < got.cols; ++j) worst = std::max(worst, std::abs(expected(i, j) + start - got(i, j)));
  double tolerance = (std::is_same_v<T, float> ? 1e-6 : 1e-14) * static_cast<double>(depth + 10);
  BOOST_CHECK_MESSAGE(worst < tolerance, what << ": off by " << worst);
}

template <class T>
void products(Int m, Int n, Int depth) {
  std::string what = fmt::format("{}x{}x{} {}", m, depth, n, name(dtype_of<T>));
  Matrix a = filled<T>(m, depth, 0), b = filled<T>(depth, n, 5), bt = b.t().clone();
  Dense expected = dense(a) * dense(b);
  tiles::Rows<T> rows;
  rows.pack(a.view<T>());
  // A wider matrix around the result, to see that nothing else is written.
  Matrix whole(m + 1, n + 3, dtype_of<T>);
  View<T> c = whole.view<T>().rows_from(0, m).cols_from(0, n);
  auto untouched = [&] {
    for (Int i = 0; i <= m; ++i)
      for (Int j = 0; j < n + 3; ++j)
        if (i == m || j >= n) BOOST_REQUIRE_EQUAL(whole.get(i, j), -7);
  };
  auto start_with = [&](double value) {
    for (Int i = 0; i <= m; ++i)
      for (Int j = 0; j < n + 3; ++j) whole.set(i, j, i < m && j < n ? value : -7);
  };
  for (auto& columns : {tiles::Columns<T>(b.view<T>()), tiles::Columns<T>(bt.view<T>().t())}) {
    start_with(100);
    tiles::multiply(rows, columns, 0, c);
    check(c, expected, 0, depth, what + " packed, packed");
    untouched();
    start_with(100);
    tiles::multiply(a.view<T>(), columns, c);
    check(c, expected, 0, depth, what + " lines, packed");
    untouched();
  }
  for (bool accumulate : {false, true}) {
    start_with(0.5);
    tiles::multiply(rows, b.view<T>(), accumulate, c);
    check(c, expected, accumulate ? 0.5 : 0, depth, what + " packed, lines");
    untouched();
  }
}

// Both products of a piece of m x n numbers, which have neighbours that are not numbers, with `columns` columns; and of
// the same numbers kept in f16, to the bit.
template <class T>
void few_products(Int m, Int n, Int columns) {
  std::string what = fmt::format("{}x{} with {} columns, {}", m, n, columns, name(dtype_of<T>));
  Matrix whole(m + 1, n + 5, dtype_of<T>), k = whole.block(0, m, 0, n), piece = filled<T>(m, n, 2);
  std::vector<std::uint16_t> halves(m * n);
  if constexpr (std::is_same_v<T, float>) {
    BOOST_REQUIRE(half::pack(piece.view<T>().data, halves.data(), m * n));
    half::unpack(halves.data(), piece.view<T>().data, m * n);
  }
  for (Int i = 0; i <= m; ++i)
    for (Int j = 0; j < n + 5; ++j) whole.set(i, j, i < m && j < n ? piece.get(i, j) : std::nan(""));
  Matrix v = filled<T>(columns, tiles::whole_lines<T>(n), 3), w = filled<T>(m, columns + 2, 4);
  auto products = [&]<class S>(View<S> values, bool direct, bool transposed) {
    Matrix d(columns, m, dtype_of<T>), t(columns, v.cols(), dtype_of<T>);
    tiles::Lines<T> to_d{direct ? d.view<T>().data : nullptr, d.ld()};
    tiles::Lines<T> to_t{transposed ? t.view<T>().data : nullptr, t.ld()};
    tiles::few_products<T>(values, columns, {v.view<T>().data, v.ld()}, {w.view<T>().data, w.ld()}, to_d, to_t, true);
    return std::pair(d, t.col_block(0, n));
  };
  for (auto [direct, transposed] : {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
    auto [d, t] = products(k.view<T>(), direct, transposed);
    if (direct) check(d.template view<T>(), dense(v).leftCols(n) * dense(piece).transpose(), 0, n, what + ", direct");
    if (transposed)
      check(t.template view<T>(), dense(w).leftCols(columns).transpose() * dense(piece), 0, m, what + ", transposed");
    if constexpr (std::is_same_v<T, float>) {
      auto [half_d, half_t] = products(View<std::uint16_t>{halves.data(), m, n, n}, direct, transposed);
      BOOST_CHECK_MESSAGE(!direct || dense(half_d) == dense(d), what << ", direct, f16");
      BOOST_CHECK_MESSAGE(!transposed || dense(half_t) == dense(t), what << ", transposed, f16");
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tiles_suite)

BOOST_AUTO_TEST_CASE(products_with_few_columns) {
  for (auto& name : tiles::names()) {
    tiles::choose(name);
    for (Int m : {1, 7, 16, 37})
      for (Int n : {1, 13, 64, 131, 530})
        for (Int columns : {1, 2, 5, 10, 16, 40}) {
          few_products<float>(m, n, columns);
          few_products<double>(m, n, columns);
        }
  }
  tiles::choose(tiles::names().front());
}

BOOST_AUTO_TEST_CASE(products_of_any_shape) {
  for (auto& name : tiles::names()) {
    tiles::choose(name);
    for (Int m : {1, 3, 5, 16, 29})
      for (Int n : {1, 10, 33, 70})
        for (Int depth : {1, 13, 1100}) {
          products<float>(m, n, depth);
          products<double>(m, n, depth);
        }
  }
  tiles::choose(tiles::names().front());
  BOOST_CHECK_THROW(tiles::choose("avx9000"), Error);
}

BOOST_AUTO_TEST_CASE(rows_fall_on_different_cache_lines) {
  for (Int cols : {1, 16, 17, 1000, 4096}) {
    Int length = tiles::row_stride<float>(cols);
    BOOST_CHECK(length >= cols && length < cols + 32 && length % 32 == 16);
  }
}

BOOST_AUTO_TEST_CASE(halves) {
  // value, bits: 1, −2, the largest, the smallest normal, the smallest of all, and 1/3 to 11 bits
  std::vector<float> values = {1, -2, 65504, 0x1p-14f, 0x1p-24f, 1.0f / 3, 0};
  std::vector<std::uint16_t> bits = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x3555, 0};
  std::vector<std::uint16_t> packed(values.size());
  BOOST_CHECK(half::pack(values.data(), packed.data(), values.size()));
  BOOST_CHECK(packed == bits);
  std::vector<float> back(values.size());
  half::unpack(packed.data(), back.data(), back.size());
  values[5] = 1365.0f / 4096;
  BOOST_CHECK(back == values);
  float large = 70000;
  BOOST_CHECK(!half::pack(&large, packed.data(), 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
