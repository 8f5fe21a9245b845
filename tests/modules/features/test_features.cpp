// The contract of every registered feature map, with the kernels and parameters that the declarations give: feature j
// is a function of (seed, j) alone, and z(x)·z(y) estimates K(x, y) without bias. A new map needs no line here.
#include "modules/features/feature_map.hpp"

#include <boost/test/unit_test.hpp>

#include "modules/blocks/block.hpp"
#include "tests/support/declared.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

std::shared_ptr<Kernel> kernel(const std::string& name, const Parameters& params) {
  for (auto& format : kernel_formats())
    if (format.name == name) return format.make(params);
  throw Error("no such kernel: " + name);
}

std::shared_ptr<FeatureMap> map_of(const std::string& name, std::shared_ptr<Kernel> kernel, Int p, std::uint64_t seed,
                                   const Values& own = {}) {
  for (auto& format : feature_map_formats())
    if (format.name == name) return format.make(std::move(kernel), p, seed, own);
  throw Error("no such map: " + name);
}

// Z(x, features) with all rows on every rank.
Dense features_of(const Dense& x, const Index& features, std::shared_ptr<FeatureMap> map, DType type = DType::f64) {
  DataSet data = DataSet::from_matrix(as_matrix(x, type));
  return dense(random_features_block(data, features, std::move(map), {})->rows(Index::range(0, data.n())));
}

// A map with a kernel that it takes and parameters of its own.
struct Case {
  const FeatureMapFormat& format;
  std::shared_ptr<Kernel> kernel;
  Values own;

  std::shared_ptr<FeatureMap> make(Int p, std::uint64_t seed) const { return format.make(kernel, p, seed, own); }
  std::string what() const { return describe(*make(10, 1)); }
};

bool takes(const FeatureMapFormat& format, std::shared_ptr<Kernel> kernel, const Values& own) {
  try {
    format.make(std::move(kernel), 10, 1, own);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Every map with every kernel that it takes, and with each of its own parameters for the first of them.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (auto& format : feature_map_formats()) {
    auto own = good_values(format.params);
    std::size_t before = all.size();
    for (auto& kernel_format : kernel_formats())
      for (auto& params : good_values(kernel_format.params)) {
        auto kernel = kernel_format.make(params);
        if (!takes(format, kernel, own.front())) continue;
        bool first = all.size() == before;
        for (std::size_t i = 0; i < (first ? own.size() : 1); ++i) all.push_back({format, kernel, own[i]});
      }
    BOOST_TEST(all.size() > before, format.name << " takes no kernel");
  }
  return all;
}

double value(const Kernel& kernel, const ::Eigen::RowVectorXd& x, const ::Eigen::RowVectorXd& y) {
  auto size = static_cast<std::size_t>(x.size());
  return kernel.value({x.data(), size}, {y.data(), size});
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
    auto make = [&] { return c.make(41, 7); };  // 41: a ragged last group of four
    Dense whole = features_of(x, Index::range(0, 41), make());
    for (const Index& block : Index::permutation(41, 3, 0).partition(6)) {
      Dense part = features_of(x, block, make());
      for (Int k = 0; k < block.size(); ++k) BOOST_TEST((part.col(k) - whole.col(block[k])).norm() <= 1e-9, c.what());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_feature_does_not_depend_on_their_number_but_for_the_scale) {
  Dense x = normal(5, 3, 2);
  for (auto& c : cases()) {
    Dense few = features_of(x, Index::range(0, 10), c.make(10, 1));
    Dense many = features_of(x, Index::range(0, 10), c.make(1000, 1));
    BOOST_TEST(distance(few * std::sqrt(10), many * std::sqrt(1000)) <= 1e-8, c.what());
  }
}

BOOST_AUTO_TEST_CASE(features_differ_by_number_and_seed) {
  Dense x = normal(6, 4, 3);
  for (auto& c : cases()) {
    Dense a = features_of(x, Index::range(0, 40), c.make(40, 1));
    Dense b = features_of(x, Index::range(0, 40), c.make(40, 2));
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
    Dense z = features_of(x, Index::range(0, p), c.make(p, 5)), estimate = z.lazyProduct(z.transpose());
    for (Int i = 0; i < x.rows(); ++i)
      for (Int j = 0; j <= i; ++j) {
        double exact = value(*c.kernel, x.row(i), x.row(j));
        BOOST_TEST(std::abs(estimate(i, j) - exact) <= 5 / std::sqrt(p),
                   c.what() << ": " << estimate(i, j) << " for " << exact);
      }
  }
}

BOOST_AUTO_TEST_CASE(f32_features_are_the_f64_ones_rounded) {
  Dense x = normal(9, 4, 6, DType::f32);
  Index all = Index::range(0, 30);
  for (auto& c : cases()) {
    Dense z = features_of(x, all, c.make(30, 1));
    // Heavy-tailed frequencies (laplacian) lose digits of a large omega·x.
    double most = c.kernel->isotropic() ? 1e-5 : 1e-3;
    BOOST_TEST(distance(features_of(x, all, c.make(30, 1), DType::f32), z) <= most * z.cwiseAbs().maxCoeff(), c.what());
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
  for (auto& format : feature_map_formats()) {
    auto rbf = kernel("rbf", {{"sigma", 1}});
    Values own = good_values(format.params).front();
    for (const char* name : {"linear", "polynomial", "cosine"})
      BOOST_CHECK_EXCEPTION(format.make(kernel(name, {}), 10, 1, own), Error, mentions(name));
    for (Int p : {0, -1}) BOOST_CHECK_THROW(format.make(rbf, p, 1, own), Error);
    auto map = format.make(rbf, 10, 1, own);
    BOOST_CHECK_THROW(features_of(normal(3, 2, 1), Index({10}), map), Error);
    BOOST_CHECK_THROW(features_of(normal(3, 2, 1), Index(), map), Error);
    own.emplace("bogus", 1);
    BOOST_CHECK_EXCEPTION(format.make(rbf, 10, 1, own), Error, mentions("'bogus'"));
    for (auto& values : bad_values(format.params))
      BOOST_CHECK_EXCEPTION(format.make(rbf, 10, 1, values), Error, mentions("features." + format.name));
  }
  BOOST_CHECK_EXCEPTION(map_of("orthogonal", kernel("laplacian", {{"sigma", 1}}), 10, 1), Error, mentions("isotropic"));
}

// Name, kernel, p, seed and its own parameters make a map anew: a model file holds no more.
BOOST_AUTO_TEST_CASE(a_map_says_what_it_was_made_of) {
  Dense x = normal(5, 3, 8);
  for (auto& c : cases()) {
    auto map = c.make(12, 9);
    BOOST_TEST(map->name() == c.format.name);
    BOOST_TEST(map->p() == 12);
    BOOST_TEST((map->kernel() == c.kernel && map->seed() == 9u));
    BOOST_TEST(is_documented(c.format.params), c.what());
    for (auto& param : c.format.params) BOOST_TEST(map->params().contains(param.name), c.what() << " " << param.name);
    auto again = map_of(map->name(), map->kernel(), map->p(), *map->seed(), map->params());
    BOOST_TEST(distance(features_of(x, Index::range(0, 12), map), features_of(x, Index::range(0, 12), again)) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
