// Elementwise functions, broadcasting and reductions, in both types and directions, against loops over the elements.
#include "core/elementwise.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// A matrix of the values as a view inside a larger one, transposed or not; `frame` is what surrounds it.
struct Framed {
  Matrix whole, inner;
  Framed(const Dense& values, DType type, bool transposed) {
    Int rows = transposed ? values.cols() : values.rows(), cols = transposed ? values.rows() : values.cols();
    whole = Matrix::zeros(rows + 2, cols + 2, type);
    for (Int i = 0; i < rows + 2; ++i)
      for (Int j = 0; j < cols + 2; ++j) whole.set(i, j, 77);
    Matrix block = whole.block(1, rows, 1, cols);
    inner = transposed ? block.t() : block;
    inner.copy_from(as_matrix(values));
  }
  bool frame_intact() const {
    double sum = 0;
    for (Int i = 0; i < whole.rows(); ++i)
      for (Int j = 0; j < whole.cols(); ++j) {
        bool edge = i == 0 || j == 0 || i == whole.rows() - 1 || j == whole.cols() - 1;
        if (edge) sum += std::abs(whole.get(i, j) - 77);
      }
    return sum == 0;
  }
};

// change(m) must make every element of m what expected(element) says, and touch nothing else.
void check_elementwise(const Dense& values, const std::function<void(const Matrix&)>& change,
                       const std::function<double(double)>& expected) {
  for (DType type : both_types)
    for (bool transposed : {false, true}) {
      Framed f(values, type, transposed);
      Dense before = dense(f.inner);
      change(f.inner);
      for (Int i = 0; i < values.rows(); ++i)
        for (Int j = 0; j < values.cols(); ++j) {
          double want = expected(before(i, j)), got = f.inner.get(i, j);
          bool same = (std::isnan(want) && std::isnan(got)) || got == want ||
                      std::abs(got - want) <= 8 * epsilon(type) * (1 + std::abs(want));
          BOOST_TEST(same, "f(" << before(i, j) << ") = " << got << ", expected " << want << " in " << name(type));
        }
      BOOST_TEST(f.frame_intact());
    }
}

const std::vector<std::pair<Unary, double (*)(double)>> unary_functions = {
    {Unary::exp, [](double x) { return std::exp(x); }},   {Unary::log, [](double x) { return std::log(x); }},
    {Unary::cos, [](double x) { return std::cos(x); }},   {Unary::sin, [](double x) { return std::sin(x); }},
    {Unary::sqrt, [](double x) { return std::sqrt(x); }}, {Unary::abs, [](double x) { return std::abs(x); }},
    {Unary::square, [](double x) { return x * x; }},      {Unary::tanh, [](double x) { return std::tanh(x); }}};

}  // namespace

BOOST_AUTO_TEST_SUITE(elementwise)

BOOST_AUTO_TEST_CASE(functions_of_one_element) {
  Dense values = 3 * normal(13, 29, 1);  // lengths that are no multiple of a vector register
  values.row(0).head(6) << 0, -1, 1, 20, -20, 0.5;
  for (auto& [f, expected] : unary_functions)
    check_elementwise(
        values, [f = f](const Matrix& m) { apply(m, f); }, expected);
  check_elementwise(
      values, [](const Matrix& m) { apply(m, [](double x) { return 2 * x - 1; }); },
      [](double x) { return 2 * x - 1; });
  check_elementwise(
      values, [](const Matrix& m) { scale(m, -1.5); }, [](double x) { return -1.5 * x; });
  check_elementwise(
      values, [](const Matrix& m) { shift(m, 0.25); }, [](double x) { return x + 0.25; });
  check_elementwise(
      values, [](const Matrix& m) { fill(m, 42); }, [](double) { return 42; });
  check_elementwise(
      values, [](const Matrix& m) { clamp(m, -1, 0.5); }, [](double x) { return std::min(std::max(x, -1.0), 0.5); });
}

BOOST_AUTO_TEST_CASE(functions_work_on_matrices_worth_all_threads) {
  Dense values = normal(130, 257, 2);
  check_elementwise(
      values, [](const Matrix& m) { apply(m, Unary::exp); }, [](double x) { return std::exp(x); });
}

BOOST_AUTO_TEST_CASE(powers) {
  Dense values(2, 4);
  values << 0, 1, 2, -2, 0.5, -0.5, 9, 3;
  for (double exponent : {0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -2.0})
    check_elementwise(
        values, [=](const Matrix& m) { power(m, exponent); }, [=](double x) { return std::pow(x, exponent); });
}

BOOST_AUTO_TEST_CASE(special_values_stay_special) {
  Dense values(1, 3);
  values << nan, infinity, -infinity;
  check_elementwise(
      values, [](const Matrix& m) { clamp(m, -1, 1); }, [](double x) { return std::isnan(x) ? x
                                                                              : x > 0       ? 1
                                                                                            : -1; });
  check_elementwise(
      values, [](const Matrix& m) { apply(m, Unary::abs); }, [](double x) { return std::abs(x); });
  check_elementwise(
      values, [](const Matrix& m) { apply(m, Unary::exp); }, [](double x) { return std::exp(x); });
  BOOST_CHECK_THROW(clamp(as_matrix(values), 1, 0), Error);
  BOOST_CHECK_THROW(clamp(as_matrix(values), nan, 1), Error);
}

// Same shape, one row and one column, of either type and direction.
BOOST_AUTO_TEST_CASE(a_second_operand_of_any_type_direction_and_width) {
  Dense a = normal(8, 5, 3, DType::f32), full = normal(8, 5, 4, DType::f32);
  Dense row = full.topRows(1), column = full.leftCols(1);
  for (const Dense& b : {full, row, column})
    for (DType a_type : both_types)
      for (DType b_type : both_types)
        for (int directions = 0; directions < 4; ++directions) {
          Dense wide = b.replicate(8 / b.rows(), 5 / b.cols());
          double tolerance = 4 * epsilon(a_type) * (1 + 5 * a.cwiseQuotient(wide).cwiseAbs().maxCoeff());
          Framed right(b, b_type, directions & 2);
          Framed sum(a, a_type, directions & 1), product = Framed(a, a_type, directions & 1),
                                                 quotient = Framed(a, a_type, directions & 1);
          add(sum.inner, -2.5, right.inner);
          multiply(product.inner, right.inner);
          divide(quotient.inner, right.inner);
          BOOST_TEST(distance(sum.inner, a - 2.5 * wide) <= tolerance);
          BOOST_TEST(distance(product.inner, a.cwiseProduct(wide)) <= tolerance);
          BOOST_TEST(distance(quotient.inner, a.cwiseQuotient(wide)) <= tolerance);
          BOOST_TEST((sum.frame_intact() && product.frame_intact() && quotient.frame_intact()));
        }
}

BOOST_AUTO_TEST_CASE(operands_may_share_their_numbers) {
  Dense a = normal(6, 6, 5);
  Matrix m = as_matrix(a);
  add(m, 1, m.t());
  BOOST_TEST(distance(m, a + a.transpose()) <= 1e-14);
  m = as_matrix(a);
  add(m.col_block(1, 5), 1, m.col_block(0, 5));
  Dense expected = a;
  expected.rightCols(5) += a.leftCols(5);
  BOOST_TEST(distance(m, expected) <= 1e-14);
  m = as_matrix(a);
  multiply(m, m);
  BOOST_TEST(distance(m, a.cwiseProduct(a)) <= 1e-14);
  m = as_matrix(a);
  add(m, -1, m.row_block(0, 1));
  BOOST_TEST(distance(m, a - a.topRows(1).replicate(6, 1)) <= 1e-14);
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
  Matrix a = Matrix::zeros(4, 3);
  for (auto [rows, cols] : {std::pair<Int, Int>{3, 4}, {4, 2}, {1, 4}, {3, 1}, {0, 3}, {2, 3}}) {
    Matrix b = Matrix::zeros(rows, cols);
    BOOST_CHECK_EXCEPTION(add(a, 1, b), Error, mentions("4x3"));
    BOOST_CHECK_THROW(multiply(a, b), Error);
    BOOST_CHECK_THROW(divide(a, b), Error);
    BOOST_CHECK_THROW(largest_difference(a, b), Error);
  }
  BOOST_CHECK_THROW(add_diagonal(a, 1), Error);
  BOOST_CHECK_THROW(trace(a), Error);
}

BOOST_AUTO_TEST_CASE(reductions) {
  for (DType type : both_types)
    for (bool transposed : {false, true})
      for (auto [rows, cols] : {std::pair<Int, Int>{1, 1}, {7, 11}, {190, 230}}) {
        Dense a = normal(rows, cols, 6, type), b = normal(rows, cols, 7, type);
        Framed f(a, type, transposed), g(b, type, transposed);
        double tolerance = 1e-13 * static_cast<double>(rows * cols);
        BOOST_TEST(std::abs(sum(f.inner) - a.sum()) <= tolerance);
        BOOST_TEST(std::abs(norm(f.inner) - a.norm()) <= tolerance);
        BOOST_TEST(minimum(f.inner) == a.minCoeff());
        BOOST_TEST(maximum(f.inner) == a.maxCoeff());
        BOOST_TEST(std::abs(dot(f.inner, g.inner) - a.cwiseProduct(b).sum()) <=
                   4 * epsilon(type) * a.norm() * b.norm());
        BOOST_TEST(std::abs(largest_difference(f.inner, g.inner) - (a - b).cwiseAbs().maxCoeff()) <= 1e-15);
        BOOST_TEST(distance(row_sums(f.inner), a.rowwise().sum()) <= tolerance);
        BOOST_TEST(distance(col_sums(f.inner), a.colwise().sum()) <= tolerance);
        BOOST_TEST(distance(row_max(f.inner), a.rowwise().maxCoeff()) == 0);
        Matrix where = row_argmax(f.inner);
        for (Int i = 0; i < rows; ++i) {
          Int best;
          a.row(i).maxCoeff(&best);
          BOOST_TEST(where.get(i, 0) == static_cast<double>(best + 1));
        }
        Int square = std::min(rows, cols);
        Matrix block = f.inner.block(0, square, 0, square);
        BOOST_TEST(std::abs(trace(block) - a.topLeftCorner(square, square).trace()) <= tolerance);
        add_diagonal(block, 3);
        Dense expected = a;
        for (Int i = 0; i < square; ++i) expected(i, i) += 3;
        BOOST_TEST(distance(f.inner, expected) <= 8 * epsilon(type));
      }
}

// 10^7 ones and a tenth: an f32 accumulator would stop at 2^24, or round every step.
BOOST_AUTO_TEST_CASE(sums_of_f32_are_kept_in_f64) {
  Matrix m(1, 1 << 21, DType::f32);
  fill(m, 0.1);
  double exact = static_cast<double>(0.1f) * (1 << 21);
  for (const Matrix& a : {m, m.t()}) {
    BOOST_TEST(std::abs(sum(a) - exact) <= 1e-9 * exact);
    BOOST_TEST(std::abs(sum(row_sums(a)) - exact) <= 1e-9 * exact);
    BOOST_TEST(std::abs(sum(col_sums(a)) - exact) <= 1e-9 * exact);
  }
}

BOOST_AUTO_TEST_CASE(reductions_see_every_bad_number) {
  for (DType type : both_types)
    for (double bad : {nan, infinity, -infinity})
      for (Int at : {0, 20, 34}) {
        Matrix m = as_matrix(normal(5, 7, 8), type);
        BOOST_TEST(all_finite(m));
        m.set(at / 7, at % 7, bad);
        BOOST_TEST(!all_finite(m));
        BOOST_TEST(!all_finite(m.t()));
        if (std::isnan(bad)) BOOST_TEST((std::isnan(maximum(m)) && std::isnan(minimum(m)) && std::isnan(sum(m))));
        if (std::isnan(bad)) BOOST_TEST(std::isnan(largest_difference(m, Matrix::zeros(5, 7))));
      }
}

BOOST_AUTO_TEST_CASE(the_first_of_equals_and_empty_matrices) {
  BOOST_TEST(row_argmax(Matrix::zeros(1, 4)).get(0, 0) == 1);
  BOOST_TEST(sum(Matrix()) == 0);
  BOOST_TEST(norm(Matrix()) == 0);
  BOOST_TEST(all_finite(Matrix()));
  BOOST_TEST(distance(row_sums(Matrix(3, 0, DType::f32)), Dense::Zero(3, 1)) == 0);
  BOOST_TEST(distance(col_sums(Matrix(0, 3, DType::f32)), Dense::Zero(1, 3)) == 0);
  BOOST_CHECK_THROW(minimum(Matrix()), Error);
  BOOST_CHECK_THROW(maximum(Matrix()), Error);
  BOOST_CHECK_THROW(row_argmax(Matrix(3, 0, DType::f64)), Error);
  BOOST_CHECK_THROW(row_max(Matrix(3, 0, DType::f64)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
