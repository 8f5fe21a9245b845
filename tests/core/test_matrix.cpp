// Matrix: shapes, views, conversion and copies between any two layouts, against plain element-by-element loops.
#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

double number(Int i, Int j) {
  return 1000.0 * static_cast<double>(i) + static_cast<double>(j) + 1;
}

Matrix numbered(Int rows, Int cols, DType type) {
  Matrix m(rows, cols, type);
  for (Int i = 0; i < rows; ++i)
    for (Int j = 0; j < cols; ++j) m.set(i, j, number(i, j));
  return m;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matrix)

BOOST_AUTO_TEST_CASE(numbers_lie_row_after_row) {
  Matrix m = numbered(3, 4, DType::f64);
  const double* data = m.view<double>().data;
  for (Int i = 0; i < 3; ++i)
    for (Int j = 0; j < 4; ++j) BOOST_TEST(data[4 * i + j] == number(i, j));
}

BOOST_AUTO_TEST_CASE(zeros_are_zero_even_in_recycled_memory) {
  for (DType type : both_types) {
    { Matrix dirty = numbered(600, 600, type); }
    Matrix m = Matrix::zeros(600, 600, type);
    BOOST_TEST(distance(m, Dense::Zero(600, 600)) == 0);
  }
}

BOOST_AUTO_TEST_CASE(copying_a_handle_shares_the_numbers_and_clone_does_not) {
  Matrix a = numbered(2, 2, DType::f64), b = a, c = a.clone();
  a.set(0, 1, -5);
  BOOST_TEST(b.get(0, 1) == -5);
  BOOST_TEST(c.get(0, 1) == number(0, 1));
}

BOOST_AUTO_TEST_CASE(views_of_views_reach_the_right_element) {
  for (DType type : both_types) {
    Matrix m = numbered(7, 9, type);
    Matrix b = m.block(1, 5, 2, 6), bt = b.t(), btb = bt.block(1, 4, 2, 3),
           back = btb.t().row_block(1, 2).col_block(2, 2);
    BOOST_TEST(b.shape() == "5x6");
    BOOST_TEST(bt.shape() == "6x5");
    for (Int i = 0; i < 5; ++i)
      for (Int j = 0; j < 6; ++j) {
        BOOST_TEST(b.get(i, j) == number(1 + i, 2 + j));
        BOOST_TEST(bt.get(j, i) == number(1 + i, 2 + j));
      }
    for (Int i = 0; i < 4; ++i)
      for (Int j = 0; j < 3; ++j) BOOST_TEST(btb.get(i, j) == number(3 + j, 3 + i));
    for (Int i = 0; i < 2; ++i)
      for (Int j = 0; j < 2; ++j) BOOST_TEST(back.get(i, j) == number(4 + i, 5 + j));
    back.set(0, 0, -1);
    BOOST_TEST(m.get(4, 5) == -1);
  }
}

BOOST_AUTO_TEST_CASE(typed_views_agree_with_get) {
  Matrix m = numbered(6, 5, DType::f32).block(1, 4, 1, 3).t();
  auto v = m.view<float>();
  BOOST_TEST(v.lines() == 4);
  BOOST_TEST(v.length() == 3);
  for (Int i = 0; i < v.rows; ++i)
    for (Int j = 0; j < v.cols; ++j) {
      BOOST_TEST(v(i, j) == m.get(i, j));
      BOOST_TEST(v.t()(j, i) == m.get(i, j));
    }
  BOOST_TEST(v.rows_from(1, 2)(1, 3) == m.get(2, 3));
  BOOST_TEST(v.cols_from(2, 2)(2, 0) == m.get(2, 2));
}

// Every pairing of types and directions, in sizes below, at and above the tiles and the parallel threshold.
BOOST_AUTO_TEST_CASE(copies_convert_between_any_two_layouts) {
  auto make = [](Int rows, Int cols, DType type, bool transposed) {
    return transposed ? Matrix::zeros(cols + 2, rows + 3, type).block(1, cols, 2, rows).t()
                      : Matrix::zeros(rows + 2, cols + 3, type).block(1, rows, 2, cols);
  };
  for (auto [rows, cols] : {std::pair<Int, Int>{1, 1}, {31, 33}, {32, 64}, {130, 257}, {0, 4}, {4, 0}})
    for (DType from_type : both_types)
      for (DType to_type : both_types)
        for (int directions = 0; directions < 4; ++directions) {
          Matrix from = make(rows, cols, from_type, directions & 1), to = make(rows, cols, to_type, directions & 2);
          Dense values = normal(rows, cols, 1, DType::f32);
          for (Int i = 0; i < rows; ++i)
            for (Int j = 0; j < cols; ++j) from.set(i, j, values(i, j));
          to.copy_from(from);
          BOOST_TEST(distance(to, values) == 0);
          BOOST_TEST(distance(from.to(to_type), values) == 0);
          Matrix plain = from.contiguous(to_type);
          BOOST_TEST(!plain.transposed());
          BOOST_TEST(distance(plain, values) == 0);
        }
}

BOOST_AUTO_TEST_CASE(a_copy_writes_nothing_beside_its_block) {
  Matrix m = Matrix::zeros(5, 6);
  m.block(1, 3, 2, 3).copy_from(numbered(3, 3, DType::f32));
  for (Int i = 0; i < 5; ++i)
    for (Int j = 0; j < 6; ++j) {
      bool inside = i >= 1 && i < 4 && j >= 2 && j < 5;
      BOOST_TEST(m.get(i, j) == (inside ? number(i - 1, j - 2) : 0));
    }
}

BOOST_AUTO_TEST_CASE(overlapping_copies_read_before_they_write) {
  Matrix m = numbered(6, 6, DType::f64);
  m.copy_from(m.t());
  BOOST_TEST(distance(m, dense(numbered(6, 6, DType::f64).t())) == 0);
  Matrix s = numbered(6, 6, DType::f64);
  s.row_block(1, 5).copy_from(s.row_block(0, 5));
  for (Int i = 1; i < 6; ++i) BOOST_TEST(s.get(i, 3) == number(i - 1, 3));
}

BOOST_AUTO_TEST_CASE(contiguous_copies_only_when_it_must) {
  Matrix m = numbered(4, 5, DType::f64);
  BOOST_TEST(m.contiguous(DType::f64).view<double>().data == m.view<double>().data);
  BOOST_TEST(m.contiguous(DType::f32).get(3, 4) == number(3, 4));
  BOOST_TEST(m.t().contiguous(DType::f64).view<double>().data != m.view<double>().data);
  Matrix narrow = m.col_block(1, 2).contiguous(DType::f64);
  BOOST_TEST(narrow.ld() == 2);
  BOOST_TEST(narrow.get(3, 1) == number(3, 2));
}

BOOST_AUTO_TEST_CASE(f32_rounds_and_f64_keeps) {
  Matrix m(1, 1, DType::f64);
  m.set(0, 0, 1.0 / 3);
  BOOST_TEST(m.get(0, 0) == 1.0 / 3);
  BOOST_TEST(m.to(DType::f32).get(0, 0) == static_cast<double>(1.0f / 3.0f));
}

BOOST_AUTO_TEST_CASE(empty_matrices_are_normal) {
  Matrix none, flat(0, 3, DType::f32), thin(3, 0, DType::f64);
  BOOST_TEST(none.size() == 0);
  BOOST_TEST(flat.t().shape() == "3x0");
  BOOST_TEST(thin.clone().shape() == "3x0");
  BOOST_TEST(flat.to(DType::f64).shape() == "0x3");
  BOOST_TEST(thin.row_block(3, 0).shape() == "0x0");
  BOOST_TEST(!none.released());
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_refused) {
  Matrix m = numbered(3, 4, DType::f64);
  for (auto [i, j] : {std::pair<Int, Int>{3, 0}, {0, 4}, {-1, 0}, {0, -1}}) {
    BOOST_CHECK_THROW(m.get(i, j), Error);
    BOOST_CHECK_THROW(m.set(i, j, 0), Error);
  }
  BOOST_CHECK_THROW(m.t().get(0, 3), Error);
  BOOST_CHECK_THROW(m.block(0, 4, 0, 1), Error);
  BOOST_CHECK_THROW(m.block(0, 1, 3, 2), Error);
  BOOST_CHECK_THROW(m.block(-1, 1, 0, 1), Error);
  BOOST_CHECK_THROW(m.block(2, -1, 0, 1), Error);
  constexpr Int most = std::numeric_limits<Int>::max();
  BOOST_CHECK_THROW(m.block(1, most, 0, 1), Error);
  BOOST_CHECK_THROW(m.copy_from(m.t()), Error);
  BOOST_CHECK_THROW(Matrix(-1, 2, DType::f64), Error);
  BOOST_CHECK_THROW(Matrix(2, -1, DType::f64), Error);
  BOOST_CHECK_THROW(Matrix(most, most, DType::f64), Error);
  BOOST_CHECK_THROW(Matrix(Int{1} << 40, Int{1} << 40, DType::f32), Error);
  BOOST_CHECK_EXCEPTION(m.view<float>(), Error, mentions("f32"));
}

BOOST_AUTO_TEST_CASE(a_released_matrix_says_so_through_every_view) {
  Matrix m = numbered(3, 4, DType::f64), view = m.row_block(1, 2).t();
  m.release();
  BOOST_TEST(view.released());
  BOOST_CHECK_EXCEPTION(view.get(0, 0), Error, mentions("released"));
  BOOST_CHECK_EXCEPTION(m.clone(), Error, mentions("released"));
}

BOOST_AUTO_TEST_CASE(types_have_names) {
  for (DType type : both_types) BOOST_TEST((parse_dtype(name(type)) == type));
  for (const char* bad : {"", "f16", "F32", "f32 "}) BOOST_CHECK_THROW(parse_dtype(bad), Error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
