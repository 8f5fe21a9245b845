// Products, Grams and decompositions for every layout, against Eigen.
#include "core/blas.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

// The values as a view of a larger matrix, stored transposed or not.
Matrix stored(const Dense& values, DType type, bool transposed) {
  Int rows = transposed ? values.cols() : values.rows(), cols = transposed ? values.rows() : values.cols();
  Matrix block = Matrix::zeros(rows + 1, cols + 2, type).block(1, rows, 1, cols);
  Matrix out = transposed ? block.t() : block;
  out.copy_from(as_matrix(values));
  return out;
}

Dense positive_definite(Int n, unsigned seed) {
  Dense a = normal(n + 3, n, seed);
  return a.transpose() * a + 0.1 * Dense::Identity(n, n);
}

Dense lower_triangle(const Dense& a) {
  return a.triangularView<::Eigen::Lower>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(blas)

BOOST_AUTO_TEST_CASE(gemm_in_every_layout) {
  struct Shape {
    Int m, k, n;
  };
  for (Shape s : {Shape{1, 1, 1}, {5, 7, 3}, {40, 33, 50}, {4, 0, 3}, {0, 3, 2}, {3, 2, 0}})
    for (DType type : both_types)
      for (int layout = 0; layout < 8; ++layout)
        for (bool accumulate : {false, true}) {
          Dense a = normal(s.m, s.k, 1, type), b = normal(s.k, s.n, 2, type), c = normal(s.m, s.n, 3, type);
          Matrix x = stored(a, type, layout & 1), y = stored(b, type, layout & 2), z = stored(c, type, layout & 4);
          dispatch(type,
                   [&]<class T>() { kbcd::blas::gemm(T(-1.5), x.view<T>(), y.view<T>(), accumulate, z.view<T>()); });
          Dense expected = -1.5 * a * b;
          if (accumulate) expected += c;
          BOOST_TEST(distance(z, expected) <= 8 * epsilon(type) * static_cast<double>(s.k + 1));
        }
}

BOOST_AUTO_TEST_CASE(gemm_does_not_read_what_it_overwrites) {
  Matrix c(3, 3, DType::f64);
  c.copy_from(as_matrix(Dense::Constant(3, 3, std::numeric_limits<double>::quiet_NaN())));
  Dense a = normal(3, 4, 1);
  kbcd::blas::gemm(1.0, as_matrix(a).view<double>(), as_matrix(a).t().view<double>(), false, c.view<double>());
  BOOST_TEST(distance(c, a * a.transpose()) <= 1e-14);
}

BOOST_AUTO_TEST_CASE(gram_fills_the_lower_triangle) {
  for (auto [rows, cols] : {std::pair<Int, Int>{1, 1}, {30, 9}, {4, 17}, {0, 5}})
    for (DType type : both_types)
      for (bool transposed : {false, true})
        for (bool accumulate : {false, true}) {
          Dense a = normal(rows, cols, 4, type), c = normal(cols, cols, 5, type);
          Matrix x = stored(a, type, transposed), g = stored(c, type, false);
          dispatch(type, [&]<class T>() { kbcd::blas::gram(x.view<T>(), accumulate, g.view<T>()); });
          Dense expected = a.transpose() * a;
          if (accumulate) expected += c;
          double tolerance = 8 * epsilon(type) * static_cast<double>(rows + 1);
          BOOST_TEST(distance(lower_triangle(dense(g)), lower_triangle(expected)) <= tolerance);
          BOOST_TEST(distance(kbcd::blas::gram(x), a.transpose() * a) <= tolerance);
        }
}

BOOST_AUTO_TEST_CASE(mirror_copies_lower_to_upper) {
  for (DType type : both_types)
    for (Int n : {0, 1, 63, 64, 65, 200}) {
      Dense c = normal(n, n, 6, type);
      Matrix m = stored(c, type, false);
      kbcd::blas::mirror(m);
      Dense expected = c.selfadjointView<::Eigen::Lower>();
      BOOST_TEST(distance(m, expected) == 0);
    }
}

BOOST_AUTO_TEST_CASE(product_has_the_wider_type) {
  Dense a = normal(6, 4, 7, DType::f32), b = normal(4, 5, 8, DType::f32);
  for (DType x : both_types)
    for (DType y : both_types) {
      Matrix c = kbcd::blas::product(as_matrix(a, x), as_matrix(b, y));
      DType wider = x == DType::f32 && y == DType::f32 ? DType::f32 : DType::f64;
      BOOST_TEST((c.dtype() == wider));
      BOOST_TEST(distance(c, a * b) <= 16 * epsilon(wider));
    }
  BOOST_CHECK_EXCEPTION(kbcd::blas::product(as_matrix(a), as_matrix(a)), Error, mentions("6x4"));
}

Dense lower_of(const Matrix& m) {
  return dense(m).triangularView<::Eigen::Lower>();
}

BOOST_AUTO_TEST_CASE(cholesky_gives_the_lower_factor) {
  for (Int n : {1, 2, 17, 128, 150, 300}) {
    Dense h = positive_definite(n, 9);
    Matrix l = stored(h, DType::f64, false);
    BOOST_TEST(kbcd::blas::cholesky(l.view<double>()) == 0);
    Dense expected = ::Eigen::LLT<Dense>(h).matrixL();
    BOOST_TEST((lower_of(l) - expected).cwiseAbs().maxCoeff() <= 1e-10);
    for (Int i = 0; i < n; ++i)
      for (Int j = i + 1; j < n; ++j) BOOST_REQUIRE_EQUAL(l.get(i, j), h(i, j));  // the rest stays
  }
  BOOST_TEST(kbcd::blas::cholesky(Matrix().view<double>()) == 0);
}

BOOST_AUTO_TEST_CASE(cholesky_reads_only_the_lower_triangle_and_names_the_bad_pivot) {
  Dense h = positive_definite(6, 10), poisoned = h;
  poisoned.triangularView<::Eigen::StrictlyUpper>().setConstant(std::numeric_limits<double>::quiet_NaN());
  Matrix l = as_matrix(poisoned);
  BOOST_TEST(kbcd::blas::cholesky(l.view<double>()) == 0);
  BOOST_TEST((lower_of(l) - Dense(::Eigen::LLT<Dense>(h).matrixL())).cwiseAbs().maxCoeff() <= 1e-12);
  for (Int n : {5, 200, 300}) {
    Dense bad = Dense::Identity(n, n);
    bad(n - 2, n - 2) = -1;
    BOOST_TEST(kbcd::blas::cholesky(as_matrix(bad).view<double>()) == n - 1);
  }
  BOOST_CHECK_THROW(kbcd::blas::cholesky(Matrix(2, 3, DType::f64).view<double>()), Error);
}

BOOST_AUTO_TEST_CASE(triangular_solves_in_every_layout) {
  Int n = 12;
  Dense full = normal(n, n, 11) + 8 * Dense::Identity(n, n), b = normal(n, 5, 12);
  for (int layout = 0; layout < 16; ++layout) {
    bool lower = layout & 1, transpose = layout & 2;
    Dense t = lower ? Dense(full.triangularView<::Eigen::Lower>()) : Dense(full.triangularView<::Eigen::Upper>());
    Matrix l = stored(t, DType::f64, layout & 4), x = stored(b, DType::f64, layout & 8);
    kbcd::blas::triangular_solve(l.view<double>(), lower, transpose, x.view<double>());
    Dense op = transpose ? Dense(t.transpose()) : t;
    BOOST_TEST(distance(op * dense(x), b) <= 1e-12);
  }
  Matrix none(n, 0, DType::f64);
  kbcd::blas::triangular_solve(as_matrix(full).view<double>(), true, false, none.view<double>());
  BOOST_CHECK_THROW(kbcd::blas::triangular_solve(as_matrix(full).view<double>(), true, false,
                                                 Matrix(n + 1, 1, DType::f64).view<double>()),
                    Error);
}

BOOST_AUTO_TEST_CASE(eigenvalues_and_vectors) {
  for (Int n : {1, 2, 30}) {
    Dense a = normal(n, n, 13);
    a = (a + a.transpose()).eval();
    auto [values, vectors] = kbcd::blas::symmetric_eigen(stored(a, DType::f64, false));
    Dense v = dense(vectors), lambda = dense(values);
    BOOST_TEST(distance(values, ::Eigen::SelfAdjointEigenSolver<Dense>(a).eigenvalues()) <=
               1e-12 * static_cast<double>(n));
    BOOST_TEST(distance(a * v, v * lambda.col(0).asDiagonal()) <= 1e-12 * static_cast<double>(n));
    BOOST_TEST(distance(v.transpose() * v, Dense::Identity(n, n)) <= 1e-13 * static_cast<double>(n));
  }
  BOOST_CHECK_THROW(kbcd::blas::symmetric_eigen(Matrix(2, 3, DType::f64)), Error);
  BOOST_CHECK_THROW(kbcd::blas::symmetric_eigen(Matrix()), Error);
}

BOOST_AUTO_TEST_CASE(qr_is_thin_orthogonal_and_of_positive_diagonal) {
  for (auto [m, n] : {std::pair<Int, Int>{1, 1}, {9, 4}, {4, 9}, {20, 20}})
    for (bool transposed : {false, true}) {
      Dense a = normal(m, n, 14);
      Int s = std::min(m, n);
      auto [q, r] = kbcd::blas::qr(stored(a, DType::f64, transposed));
      Dense upper = dense(r);
      BOOST_TEST(q.shape() == fmt::format("{}x{}", m, s));
      BOOST_TEST(distance(dense(q) * upper, a) <= 1e-13 * static_cast<double>(m + n));
      BOOST_TEST(distance(dense(q).transpose() * dense(q), Dense::Identity(s, s)) <= 1e-13);
      BOOST_TEST(Dense(upper.triangularView<::Eigen::StrictlyLower>()).norm() == 0);
      BOOST_TEST(upper.diagonal().minCoeff() >= 0);
    }
  BOOST_CHECK_THROW(kbcd::blas::qr(Matrix()), Error);
}

BOOST_AUTO_TEST_CASE(singular_values_and_vectors) {
  for (auto [m, n] : {std::pair<Int, Int>{1, 1}, {9, 4}, {4, 9}, {15, 15}})
    for (DType type : both_types) {
      Dense a = normal(m, n, 15, type);
      auto [u, s, v] = kbcd::blas::svd(stored(a, type, false));
      Int r = std::min(m, n);
      BOOST_TEST(distance(s, ::Eigen::JacobiSVD<Dense>(a).singularValues()) <= 1e-12);
      BOOST_TEST(distance(dense(u) * dense(s).col(0).asDiagonal() * dense(v).transpose(), a) <= 1e-12);
      BOOST_TEST(distance(dense(u).transpose() * dense(u), Dense::Identity(r, r)) <= 1e-13);
      BOOST_TEST(distance(dense(v).transpose() * dense(v), Dense::Identity(r, r)) <= 1e-13);
    }
  BOOST_CHECK_THROW(kbcd::blas::svd(Matrix(0, 3, DType::f64)), Error);
}

BOOST_AUTO_TEST_CASE(decompositions_of_what_is_not_finite_are_refused) {
  Dense a = Dense::Identity(5, 5);
  a(3, 2) = a(2, 3) = std::numeric_limits<double>::quiet_NaN();
  BOOST_CHECK_THROW(kbcd::blas::svd(as_matrix(a)), Error);
  BOOST_CHECK_THROW(kbcd::blas::symmetric_eigen(as_matrix(a)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
