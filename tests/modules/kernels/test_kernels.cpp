// The contract of every registered kernel: its formula in both types, symmetry, positive semidefiniteness, parameters.
#include "modules/kernels/kernel.hpp"

#include <boost/test/unit_test.hpp>

#include "modules/blocks/block.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

using Vector = ::Eigen::RowVectorXd;

double inner(const Vector& x, const Vector& y) {
  return x.dot(y);
}

double taxicab(const Vector& x, const Vector& y) {
  return (x - y).lpNorm<1>();
}

double cosine_of_angle(const Vector& x, const Vector& y) {
  return x.norm() * y.norm() > 0 ? x.dot(y) / (x.norm() * y.norm()) : 0;
}

struct Case {
  Parameters params;
  NaiveKernel naive;
};

NaiveKernel naive_matern(double nu, double sigma) {
  return {squared_distance, [=](double t) {
            double s = std::sqrt(2 * nu * std::max(t, 0.0)) / sigma;
            double polynomial = nu == 0.5 ? 1 : nu == 1.5 ? 1 + s : 1 + s + s * s / 3;
            return polynomial * std::exp(-s);
          }};
}

NaiveKernel naive_polynomial(double degree, double gamma, double c) {
  return {inner, [=](double t) { return std::pow(gamma * t + c, degree); }};
}

NaiveKernel naive_laplacian(double gamma) {
  return {taxicab, [=](double t) { return std::exp(-gamma * t); }};
}

// A kernel that is registered but not here fails the tests: every kernel needs its formula written a second time.
const std::map<std::string, std::vector<Case>> cases = {
    {"rbf", {{{{"gamma", 0.3}}, naive_rbf(0.3)}, {{{"sigma", 2}}, naive_rbf(1.0 / 8)}}},
    {"laplacian", {{{{"gamma", 0.3}}, naive_laplacian(0.3)}, {{{"sigma", 2}}, naive_laplacian(0.5)}}},
    {"matern",
     {{{{"sigma", 1.3}}, naive_matern(1.5, 1.3)},
      {{{"sigma", 1.3}, {"nu", 0.5}}, naive_matern(0.5, 1.3)},
      {{{"sigma", 0.7}, {"nu", 1.5}}, naive_matern(1.5, 0.7)},
      {{{"sigma", 2}, {"nu", 2.5}}, naive_matern(2.5, 2)}}},
    {"linear", {{{}, {inner, [](double t) { return t; }}}}},
    {"cosine", {{{}, {cosine_of_angle, [](double t) { return t; }}}}},
    {"polynomial",
     {{{}, naive_polynomial(3, 1, 1)},
      {{{"degree", 2}, {"gamma", 0.5}, {"c", 0}}, naive_polynomial(2, 0.5, 0)},
      {{{"degree", 1}, {"c", 3}}, naive_polynomial(1, 1, 3)},
      {{{"degree", 7}, {"gamma", 0.2}}, naive_polynomial(7, 0.2, 1)}}}};

const std::map<std::string, std::vector<Parameters>> invalid = {
    {"rbf", {{}, {{"sigma", 1}, {"gamma", 1}}, {{"sigma", 0}}, {{"sigma", -1}}, {{"gamma", 0}}, {{"gamma", -2}}}},
    {"laplacian", {{}, {{"sigma", 1}, {"gamma", 1}}, {{"sigma", 0}}, {{"gamma", -2}}}},
    {"matern",
     {{}, {{"nu", 1.5}}, {{"sigma", 0}}, {{"sigma", -1}}, {{"sigma", 1}, {"nu", 1}}, {{"sigma", 1}, {"nu", 0}}}},
    {"polynomial",
     {{{"degree", 0}}, {{"degree", -1}}, {{"degree", 1.5}}, {{"degree", 65}}, {{"gamma", 0}}, {{"c", -1}}}}};

// Points with a repetition and the origin among them.
Dense points(DType type) {
  Dense x = 0.5 * normal(24, 5, 1, type);
  x.row(3) = x.row(17);
  x.row(8).setZero();
  return x;
}

Dense kernel_matrix(const Dense& x, DType type, std::shared_ptr<Kernel> kernel) {
  DataSet data = DataSet::from_matrix(as_matrix(x, type));
  Index all = Index::range(0, data.n());
  return dense(kernel_block(data, all, kernel, {}, data)->rows(all));
}

// What rounding in the metric may do to the kernel's value: kappa's change over the metric's error.
double tolerance(const NaiveKernel& naive, const Vector& x, const Vector& y, DType type) {
  double metric = naive.metric(x, y), error = 8 * epsilon(type) * (1 + std::pow(x.norm() + y.norm(), 2));
  double low = naive.kappa(metric - error), high = naive.kappa(metric + error), value = naive.kappa(metric);
  return std::max(std::abs(low - value), std::abs(high - value)) + 8 * epsilon(type) * std::abs(value);
}

// f(name, kernel, naive) for every registered kernel with every set of parameters.
void for_every_kernel(const std::function<void(const std::string&, std::shared_ptr<Kernel>, const NaiveKernel&)>& f) {
  for (auto& format : kernel_formats()) {
    BOOST_TEST(cases.contains(format.name), "no formula in this test for the kernel " << format.name);
    if (!cases.contains(format.name)) continue;
    for (auto& [params, naive] : cases.at(format.name)) {
      auto kernel = format.make(params);
      f(describe(*kernel), kernel, naive);
    }
  }
}

const KernelFormat& format_of(const std::string& wanted) {
  for (auto& format : kernel_formats())
    if (format.name == wanted) return format;
  throw Error("no such kernel: " + wanted);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(values_are_those_of_the_formula) {
  for_every_kernel([](const std::string& what, std::shared_ptr<Kernel> kernel, const NaiveKernel& naive) {
    for (DType type : both_types) {
      Dense x = points(type), k = kernel_matrix(x, type, kernel);
      double worst = 0;
      for (Int i = 0; i < x.rows(); ++i)
        for (Int j = 0; j < x.rows(); ++j)
          worst = std::max(worst, std::abs(k(i, j) - naive(Vector(x.row(i)), Vector(x.row(j)))) /
                                      tolerance(naive, x.row(i), x.row(j), type));
      BOOST_TEST(worst <= 1, what << " in " << name(type) << ": " << worst << " times the tolerance");
      BOOST_TEST(k.allFinite());
    }
  });
}

BOOST_AUTO_TEST_CASE(kernels_are_symmetric) {
  for_every_kernel([](const std::string& what, std::shared_ptr<Kernel> kernel, const NaiveKernel& naive) {
    for (DType type : both_types) {
      Dense x = points(type), k = kernel_matrix(x, type, kernel);
      for (Int i = 0; i < x.rows(); ++i)
        for (Int j = 0; j < i; ++j)
          BOOST_TEST(std::abs(k(i, j) - k(j, i)) <= 2 * tolerance(naive, x.row(i), x.row(j), type), what);
    }
  });
}

BOOST_AUTO_TEST_CASE(kernels_are_positive_semidefinite) {
  for_every_kernel([](const std::string& what, std::shared_ptr<Kernel> kernel, const NaiveKernel&) {
    Dense k = kernel_matrix(points(DType::f64), DType::f64, kernel);
    auto values = ::Eigen::SelfAdjointEigenSolver<Dense>(0.5 * (k + k.transpose())).eigenvalues();
    BOOST_TEST(values.minCoeff() >= -1e-7 * values.maxCoeff(), what << ": eigenvalue " << values.minCoeff());
  });
}

// Far from the origin ‖x‖² + ‖y‖² − 2 x·y would lose every digit of f32.
BOOST_AUTO_TEST_CASE(a_common_offset_costs_no_digits) {
  Dense x = (0.5 * normal(20, 5, 2)).array() + 1000;
  x = x.cast<float>().cast<double>().eval();
  Dense expected = naive_rbf(0.5)(x, x);
  BOOST_TEST(distance(kernel_matrix(x, DType::f32, format_of("rbf").make({{"gamma", 0.5}})), expected) <= 2e-5);
}

BOOST_AUTO_TEST_CASE(points_that_are_very_far_apart_have_nothing_in_common) {
  Dense x(2, 2);
  x << 0, 0, 1e18, 1e18;
  for (const char* kernel : {"rbf", "laplacian", "matern"}) {
    Dense k = kernel_matrix(x, DType::f32, format_of(kernel).make({{"sigma", 1}}));
    BOOST_TEST(distance(k, Dense::Identity(2, 2)) <= 1e-6, kernel);
  }
}

BOOST_AUTO_TEST_CASE(unknown_and_invalid_parameters_are_refused) {
  for (auto& format : kernel_formats()) {
    Parameters valid = cases.contains(format.name) ? cases.at(format.name).front().params : Parameters{}, more = valid;
    more["bogus"] = 1;
    BOOST_CHECK_EXCEPTION(format.make(more), Error, mentions("'bogus'"));
    BOOST_CHECK_EXCEPTION(format.make(more), Error, mentions("kernel." + format.name));
    for (auto& key : format.params) {
      BOOST_CHECK_EXCEPTION(format.make(more), Error, mentions(key));  // the known ones are listed
      for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Parameters broken = valid;
        broken[key] = bad;
        BOOST_CHECK_THROW(format.make(broken), Error);
      }
    }
    if (invalid.contains(format.name))
      for (auto& params : invalid.at(format.name)) BOOST_CHECK_THROW(format.make(params), Error);
  }
}

// A width whose gamma is beyond all numbers makes exp(−∞ · 0): not a kernel.
BOOST_AUTO_TEST_CASE(a_width_without_a_finite_gamma_is_refused) {
  BOOST_CHECK_THROW(format_of("rbf").make({{"sigma", 1e-200}}), Error);
  BOOST_CHECK_THROW(format_of("laplacian").make({{"sigma", 1e-310}}), Error);
}

BOOST_AUTO_TEST_CASE(parameters_are_echoed_with_the_derived_ones) {
  Parameters rbf = format_of("rbf").make({{"sigma", 5}})->params(),
             back = format_of("rbf").make({{"gamma", 0.02}})->params();
  BOOST_TEST(std::abs(rbf.at("gamma") - 0.02) <= 1e-15);
  BOOST_TEST(std::abs(rbf.at("sigma") - 5) <= 1e-13);
  BOOST_TEST(std::abs(back.at("sigma") - 5) <= 1e-13);
  BOOST_TEST(std::abs(format_of("laplacian").make({{"sigma", 4}})->params().at("gamma") - 0.25) <= 1e-15);
  BOOST_TEST(describe(*format_of("rbf").make({{"sigma", 5}})) == "rbf{gamma=0.02, sigma=5}");
  BOOST_TEST(format_of("polynomial").make({})->params() == (Parameters{{"degree", 3}, {"gamma", 1}, {"c", 1}}));
  for_every_kernel([](const std::string& what, std::shared_ptr<Kernel> kernel, const NaiveKernel&) {
    BOOST_TEST(what.starts_with(kernel->name()));
    for (auto& [key, value] : kernel->params()) BOOST_TEST(std::isfinite(value), what << " " << key);
  });
}

BOOST_AUTO_TEST_CASE(metrics_have_names) {
  for (Metric m : {Metric::dot, Metric::cosine, Metric::sqeuclidean, Metric::manhattan})
    BOOST_TEST((parse_metric(name(m)) == m));
  BOOST_CHECK_EXCEPTION(parse_metric("euclidean"), Error, mentions("sqeuclidean"));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
