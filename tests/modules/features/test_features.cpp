// Random feature maps: feature j is a function of (seed, j) alone, and z(x)·z(y) estimates K(x, y) without bias.
#include "modules/features/feature_map.hpp"

#include <boost/test/unit_test.hpp>

#include "modules/blocks/block.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

std::shared_ptr<Kernel> kernel(const std::string& name, const Parameters& params) {
  for (auto& format : kernel_formats())
    if (format.name == name) return format.make(params);
  throw Error("no such kernel: " + name);
}

std::shared_ptr<FeatureMap> map_of(const std::string& name, std::shared_ptr<Kernel> kernel, Int p, std::uint64_t seed) {
  for (auto& format : feature_map_formats())
    if (format.name == name) return format.make(std::move(kernel), p, seed);
  throw Error("no such map: " + name);
}

// Z(x, features) with all rows on every rank.
Dense features_of(const Dense& x, const Index& features, std::shared_ptr<FeatureMap> map, DType type = DType::f64) {
  DataSet data = DataSet::from_matrix(as_matrix(x, type));
  return dense(random_features_block(data, features, std::move(map), {})->rows(Index::range(0, data.n())));
}

struct Case {
  std::string map;
  std::shared_ptr<Kernel> kernel;
  std::function<double(double, double)> value;  // of ‖x − y‖ and ‖x − y‖₁
};

std::vector<Case> cases() {
  std::vector<Case> all;
  auto matern = [](double nu, double sigma) {
    return [=](double r, double) {
      double s = std::sqrt(2 * nu) * r / sigma;
      return (nu == 0.5 ? 1 : nu == 1.5 ? 1 + s : 1 + s + s * s / 3) * std::exp(-s);
    };
  };
  for (const char* map : {"fourier", "orthogonal"}) {
    all.push_back({map, kernel("rbf", {{"sigma", 1.5}}), [](double r, double) { return std::exp(-r * r / 4.5); }});
    for (double nu : {0.5, 1.5, 2.5})
      all.push_back({map, kernel("matern", {{"nu", nu}, {"sigma", 1.5}}), matern(nu, 1.5)});
  }
  all.push_back({"fourier", kernel("laplacian", {{"sigma", 4}}), [](double, double r1) { return std::exp(-r1 / 4); }});
  return all;
}

// Rows proportional to omega_j: the gradients of z at 0 are −√(2/p) sin(b_j) omega_j.
Dense gradients(std::shared_ptr<FeatureMap> map, Int d) {
  constexpr double step = 1e-5;
  Dense x(2 * d, d);
  x << step * Dense::Identity(d, d), -step * Dense::Identity(d, d);
  Dense z = features_of(x, Index::range(0, map->p()), map);
  return ((z.topRows(d) - z.bottomRows(d)) / (2 * step)).transpose();
}

double largest_cosine_within_groups(const Dense& g) {
  double largest = 0;
  Int d = g.cols();
  for (Int i = 0; i < g.rows(); ++i)
    for (Int j = i / d * d; j < i; ++j)
      largest = std::max(largest, std::abs(g.row(i).dot(g.row(j))) / (g.row(i).norm() * g.row(j).norm()));
  return largest;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(features)

BOOST_AUTO_TEST_CASE(any_block_gives_the_same_columns) {
  Dense x = normal(9, 4, 1);
  for (auto& c : cases()) {
    auto make = [&] { return map_of(c.map, c.kernel, 41, 7); };  // 41: a ragged last group of four
    Dense whole = features_of(x, Index::range(0, 41), make());
    for (const Index& block : Index::permutation(41, 3, 0).partition(6)) {
      Dense part = features_of(x, block, make());
      for (Int k = 0; k < block.size(); ++k)
        BOOST_TEST((part.col(k) - whole.col(block[k])).norm() <= 1e-9, c.map << " " << describe(*c.kernel));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_feature_does_not_depend_on_their_number_but_for_the_scale) {
  Dense x = normal(5, 3, 2);
  for (auto& c : cases()) {
    Dense few = features_of(x, Index::range(0, 10), map_of(c.map, c.kernel, 10, 1));
    Dense many = features_of(x, Index::range(0, 10), map_of(c.map, c.kernel, 1000, 1));
    BOOST_TEST(distance(few / std::sqrt(2.0 / 10), many / std::sqrt(2.0 / 1000)) <= 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(features_differ_by_number_and_seed) {
  Dense x = normal(6, 4, 3);
  for (auto& c : cases()) {
    Dense a = features_of(x, Index::range(0, 40), map_of(c.map, c.kernel, 40, 1));
    Dense b = features_of(x, Index::range(0, 40), map_of(c.map, c.kernel, 40, 2));
    for (Int i = 0; i < 40; ++i)
      for (Int j = 0; j < 40; ++j) {
        BOOST_TEST((a.col(i) - b.col(j)).norm() > 1e-6);
        if (i < j) BOOST_TEST((a.col(i) - a.col(j)).norm() > 1e-6);
      }
  }
}

// Each of p terms 2 cos(a) cos(b) has a variance of at most 1, so the mean is within 5 / √p.
BOOST_AUTO_TEST_CASE(products_estimate_the_kernel) {
  Int p = 40000, d = 4;
  Dense x = 0.7 * normal(12, d, 4);
  for (auto& c : cases()) {
    Dense z = features_of(x, Index::range(0, p), map_of(c.map, c.kernel, p, 5)), estimate = z * z.transpose();
    for (Int i = 0; i < x.rows(); ++i)
      for (Int j = 0; j <= i; ++j) {
        double exact = c.value((x.row(i) - x.row(j)).norm(), (x.row(i) - x.row(j)).lpNorm<1>());
        BOOST_TEST(std::abs(estimate(i, j) - exact) <= 5 / std::sqrt(p),
                   c.map << " " << describe(*c.kernel) << ": " << estimate(i, j) << " for " << exact);
      }
  }
}

BOOST_AUTO_TEST_CASE(f32_features_are_the_f64_ones_rounded) {
  Dense x = normal(9, 4, 6, DType::f32);
  for (const char* map : {"fourier", "orthogonal"}) {
    auto m = map_of(map, kernel("rbf", {{"sigma", 2}}), 30, 1);
    Index all = Index::range(0, 30);
    BOOST_TEST(distance(features_of(x, all, m, DType::f32), features_of(x, all, m)) <= 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(features_are_bounded_cosines) {
  auto m = map_of("fourier", kernel("rbf", {{"sigma", 0.1}}), 50, 1);
  double bound = std::sqrt(2.0 / 50);
  Dense z = features_of(normal(200, 3, 7), Index::range(0, 50), m);
  BOOST_TEST(z.cwiseAbs().maxCoeff() <= bound * (1 + 1e-15));
  BOOST_TEST(z.maxCoeff() > 0.99 * bound);
  BOOST_TEST(z.minCoeff() < -0.99 * bound);
}

BOOST_AUTO_TEST_CASE(orthogonal_frequencies_are_so_within_their_groups_only) {
  for (Int d : {1, 3, 5}) {
    for (auto k : {kernel("rbf", {{"sigma", 1}}), kernel("matern", {{"sigma", 1}})}) {
      Int p = 4 * d + 2;
      Dense orthogonal = gradients(map_of("orthogonal", k, p, 3), d), plain = gradients(map_of("fourier", k, p, 3), d);
      BOOST_TEST(largest_cosine_within_groups(orthogonal) <= 1e-4);
      if (d == 1) continue;
      BOOST_TEST(largest_cosine_within_groups(plain) > 0.1);
      Dense shifted = orthogonal.bottomRows(p - 1);  // groups that straddle two rotations
      BOOST_TEST(largest_cosine_within_groups(shifted) > 0.01);
    }
  }
}

BOOST_AUTO_TEST_CASE(maps_without_a_meaning_are_refused) {
  auto rbf = kernel("rbf", {{"sigma", 1}});
  for (auto& format : feature_map_formats()) {
    for (const char* name : {"linear", "polynomial", "cosine"})
      BOOST_CHECK_EXCEPTION(format.make(kernel(name, {}), 10, 1), Error, mentions(name));
    for (Int p : {0, -1}) BOOST_CHECK_THROW(format.make(rbf, p, 1), Error);
    auto map = format.make(rbf, 10, 1);
    BOOST_TEST(map->p() == 10);
    BOOST_TEST(map->name() == format.name);
    BOOST_CHECK_THROW(features_of(normal(3, 2, 1), Index({10}), map), Error);
    BOOST_CHECK_THROW(features_of(normal(3, 2, 1), Index(), map), Error);
  }
  BOOST_CHECK_EXCEPTION(map_of("orthogonal", kernel("laplacian", {{"sigma", 1}}), 10, 1), Error, mentions("isotropic"));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
