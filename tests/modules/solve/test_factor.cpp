// Cholesky factors and solves against Eigen's LDLT; jitter, and the errors of what is not positive definite.
#include "modules/solve/factor.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

Dense positive_definite(Int n, unsigned seed, DType type = DType::f64) {
  Dense a = normal(n + 5, n, seed);
  Dense h = a.transpose() * a + Dense::Identity(n, n);
  return type == DType::f32 ? Dense(h.cast<float>().cast<double>()) : h;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(factor)

BOOST_AUTO_TEST_CASE(solutions_agree_with_eigen) {
  for (Int n : {1, 2, 40})
    for (DType type : both_types)
      for (bool transposed : {false, true}) {
        Dense h = positive_definite(n, 1, type), b = normal(n, 3, 2, type);
        Factor f(as_matrix(h, type), false, "test");
        Matrix rhs = transposed ? as_matrix(b.transpose(), type).t() : as_matrix(b, type), x = f.solve(rhs);
        BOOST_TEST((x.dtype() == DType::f64));
        BOOST_TEST(distance(x, ::Eigen::LDLT<Dense>(h).solve(b)) <= 1e-12);
        BOOST_TEST(distance(rhs, b) == 0);  // the right-hand side is left alone
        BOOST_TEST(f.jitter() == 0);
        BOOST_TEST(f.size() == n);
      }
}

// Of an f32 matrix, with a ridge that leaves a condition number from 1e1 to 1e8: the solution of H in f64, for columns
// of very different sizes. L is in f32 as long as f32 is of use.
BOOST_AUTO_TEST_CASE(solutions_with_a_ridge_are_those_of_f64) {
  for (Int n : {1, 130, 300})
    for (double ridge : {1e-1, 1e-3, 1e-5, 1e-8}) {
      Dense root = normal(n, n, 5, DType::f32), a = root * root.transpose() / n;
      Matrix given = as_matrix(a, DType::f32);
      Dense h = dense(given) + ridge * Dense::Identity(n, n), b = normal(n, 3, 6);
      b.col(1) *= 1e-60;
      b.col(2).setZero();
      Factor f = Factor::with_ridge(given, ridge, false, "test");
      if (n > 1) BOOST_TEST((f.lower().dtype() == (ridge >= 1e-3 ? DType::f32 : DType::f64) || ridge == 1e-5));
      Dense x = dense(f.solve(as_matrix(b))), expected = ::Eigen::LDLT<Dense>(h).solve(b);
      for (Int j : {0, 1}) BOOST_TEST((x.col(j) - expected.col(j)).norm() <= 1e-6 * expected.col(j).norm());
      BOOST_TEST(x.col(2).norm() == 0);
      BOOST_TEST(distance(f.times(as_matrix(expected)), h * expected) <= 1e-10);
      BOOST_TEST(distance(given, a.cast<float>().cast<double>()) == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_ridge_that_is_not_enough_is_an_error_or_gets_jitter) {
  Dense a = -Dense::Identity(4, 4);
  a(0, 0) = 100;
  for (DType type : both_types) {
    BOOST_CHECK_EXCEPTION(Factor::with_ridge(as_matrix(a, type), 0.5, false, "here"), Error,
                          mentions("here: 4x4 matrix is not positive definite"));
    BOOST_CHECK_THROW(Factor::with_ridge(as_matrix(a, type), 0.5, true, "here"), Error);
    Dense singular = Dense::Ones(3, 3);
    BOOST_TEST(Factor::with_ridge(as_matrix(singular, type), 0, true, "here").jitter() > 0);
  }
}

BOOST_AUTO_TEST_CASE(the_factor_is_lower_and_multiplies_back) {
  Dense h = positive_definite(25, 3);
  Matrix input = as_matrix(h);
  Dense l = dense(Factor(input, false, "test").lower());
  BOOST_TEST(distance(l * l.transpose(), h) <= 1e-12);
  BOOST_TEST(Dense(l.triangularView<::Eigen::StrictlyUpper>()).norm() == 0);
  BOOST_TEST(distance(input, h) == 0);
}

BOOST_AUTO_TEST_CASE(one_factor_serves_many_right_hand_sides) {
  Dense h = positive_definite(12, 4);
  Factor f(as_matrix(h), false, "test");
  for (unsigned seed = 0; seed < 3; ++seed) {
    Dense b = normal(12, seed + 1, seed);
    BOOST_TEST(distance(h * dense(f.solve(as_matrix(b))), b) <= 1e-11);
  }
  BOOST_TEST(f.solve(Matrix(12, 0, DType::f64)).shape() == "12x0");
  BOOST_CHECK_EXCEPTION(f.solve(Matrix(11, 1, DType::f64)), Error, mentions("12 rows"));
}

BOOST_AUTO_TEST_CASE(what_is_not_positive_definite_is_an_error_that_helps) {
  Dense h = Dense::Identity(4, 4);
  h(2, 2) = -1;
  BOOST_CHECK_EXCEPTION(Factor(as_matrix(h), false, "local_solve"), Error,
                        mentions("local_solve: 4x4 matrix is not positive definite"));
  BOOST_CHECK_EXCEPTION(Factor(as_matrix(h), false, "local_solve"), Error, mentions("raise lambda or gamma"));
  BOOST_CHECK_EXCEPTION(Factor(as_matrix(h), true, "local_solve"), Error, mentions("not positive definite, even with"));
  BOOST_CHECK_THROW(Factor(as_matrix(-h), true, "test"), Error);        // negative trace
  BOOST_CHECK_THROW(Factor(Matrix::zeros(3, 3), true, "test"), Error);  // nothing to scale the jitter by
  BOOST_CHECK_THROW(Factor(Matrix::zeros(3, 3), false, "test"), Error);
}

// [1 1; 1 1 - e] has the eigenvalue -e/2: the jitter must pass it, by no more than the next power of ten.
BOOST_AUTO_TEST_CASE(jitter_grows_until_the_factor_exists) {
  double last = 0;
  for (double e : {1e-14, 1e-12, 1e-10, 1e-9}) {
    Dense h(2, 2);
    h << 1, 1, 1, 1 - e;
    BOOST_CHECK_THROW(Factor(as_matrix(h), false, "test"), Error);
    Factor f(as_matrix(h), true, "test");
    BOOST_TEST((f.jitter() > 0.4 * e && f.jitter() < 10 * e));
    BOOST_TEST(f.jitter() > last);
    last = f.jitter();
    Dense shifted = h + f.jitter() * Dense::Identity(2, 2), l = dense(f.lower());
    BOOST_TEST(distance(l * l.transpose(), shifted) <= 1e-15);
  }
}

BOOST_AUTO_TEST_CASE(a_gram_of_repeated_columns_can_be_solved_with_jitter) {
  Dense a = normal(30, 6, 5), twice(30, 12);
  twice << a, a;
  Dense h = twice.transpose() * twice, b = twice.transpose() * normal(30, 1, 6);  // in the range of h
  Factor f(as_matrix(h), true, "test");
  BOOST_TEST(f.jitter() < 1e-8 * h.trace());
  BOOST_TEST(distance(h * dense(f.solve(as_matrix(b))), b) <= 1e-5 * b.norm());
}

BOOST_AUTO_TEST_CASE(a_good_matrix_gets_no_jitter) {
  BOOST_TEST(Factor(as_matrix(positive_definite(10, 7)), true, "test").jitter() == 0);
}

BOOST_AUTO_TEST_CASE(bad_numbers_and_shapes_are_refused) {
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (DType type : both_types)
      for (bool jitter : {false, true})
        for (Int at : {0, 6, 15}) {
          Matrix h = as_matrix(positive_definite(4, 8), type);
          h.set(at / 4, at % 4, bad);
          BOOST_CHECK_EXCEPTION(Factor(h, jitter, "test"), Error, mentions("NaN or Inf"));
        }
  BOOST_CHECK_EXCEPTION(Factor(Matrix::zeros(3, 4), false, "test"), Error, mentions("3x4"));
  BOOST_CHECK_THROW(Factor(Matrix(), false, "test"), Error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
