// The contract of every registered kernel, with parameters from its declaration: its own formula in both types,
// symmetry, positive semidefiniteness, frequencies, parameters. A new kernel needs no line here.
#include "modules/kernels/kernel.hpp"

#include <boost/test/unit_test.hpp>

#include "modules/blocks/block.hpp"
#include "tests/support/declared.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

using Vector = ::Eigen::RowVectorXd;

std::span<const double> span_of(const Vector& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

double value(const Kernel& kernel, const Vector& x, const Vector& y) {
  return kernel.value(span_of(x), span_of(y));
}

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

double kappa(const Kernel& kernel, double metric) {
  if (kernel.metric() == Metric::sqeuclidean || kernel.metric() == Metric::manhattan) metric = std::max(metric, 0.0);
  Matrix one = as_matrix(Dense::Constant(1, 1, metric));
  kernel.kappa(one.view<double>());
  return one.get(0, 0);
}

// What rounding in the metric may do to the kernel's value: kappa's change over the metric's error.
double tolerance(const Kernel& kernel, const Vector& x, const Vector& y, DType type) {
  double metric = metric_value(kernel.metric(), span_of(x), span_of(y));
  double error = 8 * epsilon(type) * (1 + std::pow(x.norm() + y.norm(), 2));
  double low = kappa(kernel, metric - error), high = kappa(kernel, metric + error), value = kappa(kernel, metric);
  return std::max(std::abs(low - value), std::abs(high - value)) + 8 * epsilon(type) * std::abs(value);
}

// f(what, kernel) for every registered kernel with every set of parameters.
void for_every_kernel(const std::function<void(const std::string&, std::shared_ptr<Kernel>)>& f) {
  for (auto& format : kernel_formats())
    for (auto& values : good_values(format.params)) {
      auto kernel = format.make(values);
      f(describe(*kernel), kernel);
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
  for_every_kernel([](const std::string& what, std::shared_ptr<Kernel> kernel) {
    for (DType type : both_types) {
      Dense x = points(type), k = kernel_matrix(x, type, kernel);
      double worst = 0;
      for (Int i = 0; i < x.rows(); ++i)
        for (Int j = 0; j < x.rows(); ++j)
          worst = std::max(worst, std::abs(k(i, j) - value(*kernel, x.row(i), x.row(j))) /
                                      tolerance(*kernel, x.row(i), x.row(j), type));
      BOOST_TEST(worst <= 1, what << " in " << name(type) << ": " << worst << " times the tolerance");
      BOOST_TEST(k.allFinite());
    }
  });
}

// Numbers worked out by hand: x = (1, 2), y = (3, −1), so |x−y|² = 13, |x−y|₁ = 5, x·y = 1.
BOOST_AUTO_TEST_CASE(shipped_kernels_have_the_known_values) {
  Vector x(2), y(2);
  x << 1, 2;
  y << 3, -1;
  auto is = [&](const char* name, const Parameters& params, double expected) {
    double got = value(*format_of(name).make(params), x, y);
    BOOST_TEST(std::abs(got - expected) <= 1e-12 * std::abs(expected), name << ": " << got << " for " << expected);
  };
  is("rbf", {{"gamma", 0.1}}, 0.2725317930340126);
  is("rbf", {{"sigma", 2}}, 0.19691167520419406);
  is("laplacian", {{"sigma", 4}}, 0.2865047968601901);
  is("matern", {{"sigma", 2}, {"nu", 0.5}}, 0.16484071454660576);
  is("matern", {{"sigma", 2}}, 0.1815835380345919);
  is("matern", {{"sigma", 2}, {"nu", 2.5}}, 0.1854930486866465);
  is("linear", {}, 1);
  is("cosine", {}, 1 / std::sqrt(50.0));
  is("polynomial", {}, 8);
  is("polynomial", {{"degree", 2}, {"gamma", 0.5}, {"c", 3}}, 12.25);
}

BOOST_AUTO_TEST_CASE(kernels_are_symmetric) {
  for_every_kernel([](const std::string& what, std::shared_ptr<Kernel> kernel) {
    for (DType type : both_types) {
      Dense x = points(type), k = kernel_matrix(x, type, kernel);
      for (Int i = 0; i < x.rows(); ++i)
        for (Int j = 0; j < i; ++j)
          BOOST_TEST(std::abs(k(i, j) - k(j, i)) <= 2 * tolerance(*kernel, x.row(i), x.row(j), type), what);
    }
  });
}

BOOST_AUTO_TEST_CASE(kernels_are_positive_semidefinite) {
  for_every_kernel([](const std::string& what, std::shared_ptr<Kernel> kernel) {
    Dense k = kernel_matrix(points(DType::f64), DType::f64, kernel);
    auto values = ::Eigen::SelfAdjointEigenSolver<Dense>(0.5 * (k + k.transpose())).eigenvalues();
    BOOST_TEST(values.minCoeff() >= -1e-7 * values.maxCoeff(), what << ": eigenvalue " << values.minCoeff());
  });
}

// E cos(omega·(x − y)) = K(x, y) by Bochner's theorem. A cosine has a variance of at most 1, so a mean of p is within
// 5 / √p. Other kernels say that they have no frequencies.
BOOST_AUTO_TEST_CASE(frequencies_are_from_the_spectral_measure) {
  constexpr Int p = 40000, d = 4;
  Dense x = 0.7 * normal(6, d, 4);
  for (auto& format : kernel_formats())
    for (auto& values : good_values(format.params)) {
      auto kernel = format.make(values);
      Vector omega(d);
      if (!format.has_frequencies) {
        BOOST_CHECK_EXCEPTION(kernel->frequency(1, 0, {omega.data(), d}), Error, mentions(format.name));
        continue;
      }
      Dense sums = Dense::Zero(x.rows(), x.rows());
      for (Int j = 0; j < p; ++j) {
        kernel->frequency(5, j, {omega.data(), d});
        for (Int a = 0; a < x.rows(); ++a)
          for (Int b = 0; b <= a; ++b) sums(a, b) += std::cos(omega.dot(x.row(a) - x.row(b)));
      }
      for (Int a = 0; a < x.rows(); ++a)
        for (Int b = 0; b <= a; ++b)
          BOOST_TEST(std::abs(sums(a, b) / p - value(*kernel, x.row(a), x.row(b))) <= 5 / std::sqrt(p),
                     describe(*kernel) << ": " << sums(a, b) / p << " for " << value(*kernel, x.row(a), x.row(b)));
    }
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
    Values more = good_values(format.params).front();
    more.emplace("bogus", 1);
    BOOST_CHECK_EXCEPTION(format.make(more), Error, mentions("'bogus'"));
    BOOST_CHECK_EXCEPTION(format.make(more), Error, mentions("kernel." + format.name));
    for (auto& param : format.params) BOOST_CHECK_EXCEPTION(format.make(more), Error, mentions(param.name));
    for (auto& values : bad_values(format.params)) {
      BOOST_TEST_CONTEXT(format.name << "{" << text_of(values) << "}")
      BOOST_CHECK_EXCEPTION(format.make(values), Error, mentions("kernel." + format.name));
    }
  }
}

BOOST_AUTO_TEST_CASE(declarations_are_complete) {
  for (auto& format : kernel_formats()) {
    BOOST_TEST(!format.formula.empty(), format.name);
    BOOST_TEST(is_documented(format.params), format.name);
    if (format.width) BOOST_TEST(joined_names(format.params).find(*format.width) != std::string::npos, format.name);
  }
}

// A width scales with the distances: K of data and width that are both twice as large is the same.
BOOST_AUTO_TEST_CASE(widths_scale_with_the_distances) {
  Dense x = points(DType::f64);
  for (auto& format : kernel_formats()) {
    if (!format.width) continue;
    Values narrow = good_values(format.params).front(), wide;
    narrow.insert_or_assign(*format.width, 0.7);
    wide = narrow;
    wide.insert_or_assign(*format.width, 1.4);
    Dense a = kernel_matrix(x, DType::f64, format.make(narrow)),
          b = kernel_matrix(2 * x, DType::f64, format.make(wide));
    BOOST_TEST(distance(a, b) <= 1e-12 * a.cwiseAbs().maxCoeff(), format.name);
  }
}

// A width whose gamma is beyond all numbers makes exp(−∞ · 0): not a kernel.
BOOST_AUTO_TEST_CASE(a_width_without_a_finite_gamma_is_refused) {
  BOOST_CHECK_THROW(format_of("rbf").make({{"sigma", 1e-200}}), Error);
  BOOST_CHECK_THROW(format_of("laplacian").make({{"sigma", 1e-310}}), Error);
}

BOOST_AUTO_TEST_CASE(parameters_are_echoed_with_the_derived_ones) {
  auto number = [](const char* kernel, const Parameters& given, const char* key) {
    return std::get<double>(format_of(kernel).make(given)->params().at(key));
  };
  BOOST_TEST(std::abs(number("rbf", {{"sigma", 5}}, "gamma") - 0.02) <= 1e-15);
  BOOST_TEST(std::abs(number("rbf", {{"sigma", 5}}, "sigma") - 5) <= 1e-13);
  BOOST_TEST(std::abs(number("rbf", {{"gamma", 0.02}}, "sigma") - 5) <= 1e-13);
  BOOST_TEST(std::abs(number("laplacian", {{"sigma", 4}}, "gamma") - 0.25) <= 1e-15);
  BOOST_TEST(describe(*format_of("rbf").make({{"sigma", 5}})) == "rbf{gamma=0.02, sigma=5}");
  for (auto& format : kernel_formats())
    for (auto& values : good_values(format.params)) {
      auto kernel = format.make(values);
      BOOST_TEST(kernel->name() == format.name);
      BOOST_TEST((kernel->metric() == format.metric));
      Values echoed = kernel->params();
      for (auto& [key, value] : values) BOOST_TEST(same(echoed.at(key), value), describe(*kernel) << " " << key);
      for (auto& param : format.params) BOOST_TEST(echoed.contains(param.name), format.name << " " << param.name);
    }
}

BOOST_AUTO_TEST_CASE(metrics_have_names) {
  for (Metric m : {Metric::dot, Metric::cosine, Metric::sqeuclidean, Metric::manhattan})
    BOOST_TEST((parse_metric(name(m)) == m));
  BOOST_CHECK_EXCEPTION(parse_metric("euclidean"), Error, mentions("sqeuclidean"));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
