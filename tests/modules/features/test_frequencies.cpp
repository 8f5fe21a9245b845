// The maps sorf and qmc against the frequencies of their formulas, made here from dense matrices and sums of digits;
// and how near z(x)·z(y) comes to the kernel, beside independent frequencies.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <numbers>

#include "core/random.hpp"
#include "modules/blocks/block.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

constexpr std::uint64_t seed = 11;

std::shared_ptr<Kernel> kernel(const std::string& name, double sigma) {
  for (auto& format : kernel_formats())
    if (format.name == name) return format.make({{"sigma", sigma}});
  throw Error("no such kernel: " + name);
}

std::shared_ptr<FeatureMap> map_of(const std::string& name, std::shared_ptr<Kernel> kernel, Int p,
                                   std::uint64_t seed = tests::seed) {
  for (auto& format : feature_map_formats())
    if (format.name == name) return format.make(std::move(kernel), p, seed, {});
  throw Error("no such map: " + name);
}

Dense features_of(const DataSet& data, const Index& features, std::shared_ptr<FeatureMap> map) {
  return dense(random_features_block(data, features, std::move(map), {})->rows(Index::range(0, data.n())));
}

Dense features_of(const Dense& x, std::shared_ptr<FeatureMap> map, DType type = DType::f64) {
  return features_of(DataSet::from_matrix(as_matrix(x, type)), Index::range(0, map->p()), map);
}

Index range_of(std::vector<Int> firsts, Int count) {
  std::vector<Int> all;
  for (Int first : firsts)
    for (Int i = 0; i < count; ++i) all.push_back(first + i);
  return Index(all);
}

// z from frequencies, a row each: cosine and sine in turn.
Dense cosines(const Dense& x, const Dense& omega, Int p) {
  Random random(seed, Stream::phase);
  Dense z(x.rows(), p);
  for (Int i = 0; i < x.rows(); ++i)
    for (Int j = 0; j < p; ++j) {
      double angle = x.row(i).dot(omega.row(j / 2)) + 2 * std::numbers::pi * random.uniform(j / 2, 0);
      z(i, j) = std::sqrt(2.0 / p) * (j % 2 ? std::sin(angle) : std::cos(angle));
    }
  return z;
}

// diag(r) H D₁ H D₂ H D₃, group after group, without the columns of the zeros.
Dense sorf_frequencies(const Kernel& kernel, Int count, Int d, Int size) {
  Dense h(size, size), omega(count, d);
  for (Int i = 0; i < size; ++i)
    for (Int j = 0; j < size; ++j)
      h(i, j) = (std::popcount(static_cast<std::uint64_t>(i & j)) % 2 ? -1 : 1) / std::sqrt(size);
  Random random(seed, Stream::sign, static_cast<std::uint32_t>(size));
  for (Int first = 0; first < count; first += size) {
    auto signs = [&](Int k) {
      Eigen::VectorXd s(size);
      for (Int i = 0; i < size; ++i) {
        Int bit = k * size + i;
        s(i) = random.bits(first / size, static_cast<std::uint32_t>(bit / 64)) >> bit % 64 & 1 ? 1 : -1;
      }
      return s;
    };
    Dense w = h * signs(2).asDiagonal() * h * signs(1).asDiagonal() * h * signs(0).asDiagonal();
    for (Int m = 0; m < std::min(size, count - first); ++m) {
      std::vector<double> drawn(size);
      kernel.frequency(seed, first + m, drawn);
      omega.row(first + m) = Eigen::Map<Eigen::VectorXd>(drawn.data(), size).norm() * w.row(m).head(d);
    }
  }
  return omega;
}

// Φ⁻¹ by bisection.
double normal_quantile(double u) {
  double low = -10, high = 10;
  for (int step = 0; step < 80; ++step) {
    double x = (low + high) / 2;
    (std::erfc(-x / std::numbers::sqrt2) / 2 < u ? low : high) = x;
  }
  return low;
}

std::vector<Int> first_primes(Int count) {
  std::vector<Int> found;
  for (Int i = 2; static_cast<Int>(found.size()) < count; ++i)
    if (std::none_of(found.begin(), found.end(), [&](Int q) { return i % q == 0; })) found.push_back(i);
  return found;
}

// u_c(m), a row each: all digits of 64 bits, one after the other.
Dense halton(Int count, Int d) {
  Dense u(count, d);
  auto bases = first_primes(d);
  Random random(seed, Stream::digit);
  for (Int m = 0; m < count; ++m)
    for (Int c = 0; c < d; ++c) {
      Int base = bases[c], rest = m;
      double sum = 0, weight = 1;
      for (std::uint32_t k = 0; weight > 1e-16; ++k, rest /= base) {
        Int factor = 1 + random.below(base - 1, c, 2 * k), shift = random.below(base, c, 2 * k + 1);
        weight /= base;
        sum += (factor * (rest % base) + shift) % base * weight;
      }
      u(m, c) = sum;
    }
  return u;
}

// The mean squared difference of z(x)·z(y) and K(x, y), over pairs and seeds.
double squared_error(const std::string& name, Int p, const Dense& x, std::shared_ptr<Kernel> kernel) {
  double sum = 0;
  constexpr std::uint64_t seeds = 12;
  for (std::uint64_t s = 1; s <= seeds; ++s) {
    Dense z = features_of(x, map_of(name, kernel, p, s));
    Dense error = z.lazyProduct(z.transpose());
    for (Int i = 0; i < x.rows(); ++i)
      for (Int j = 0; j < x.rows(); ++j) {
        Eigen::VectorXd a = x.row(i), b = x.row(j);
        auto d = static_cast<std::size_t>(x.cols());
        error(i, j) -= kernel->value({a.data(), d}, {b.data(), d});
      }
    sum += error.squaredNorm();
  }
  return sum / (seeds * x.rows() * x.rows());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frequencies)

BOOST_AUTO_TEST_CASE(sorf_is_its_formula_by_transforms_and_by_products) {
  for (auto [d, size, p] : {std::array<Int, 3>{3, 64, 300}, {64, 64, 257}, {100, 128, 700}, {128, 128, 255}})
    for (const char* name : {"rbf", "matern"}) {
      auto k = kernel(name, 9);
      Dense x = normal(7, d, 1), expected = cosines(x, sorf_frequencies(*k, (p + 1) / 2, d, size), p);
      auto map = map_of("sorf", k, p);
      DataSet data = DataSet::from_matrix(as_matrix(x));
      BOOST_TEST(distance(features_of(x, map), expected) <= 1e-10, name << ", d = " << d << ": all features");
      for (const Index& block : Index::permutation(p, 3, 0).partition(50)) {
        Dense part = features_of(data, block, map);
        for (Int j = 0; j < block.size(); ++j)
          BOOST_TEST((part.col(j) - expected.col(block[j])).norm() <= 1e-10, name << ", d = " << d << ": one by one");
      }
    }
}

// Runs that begin and end at odd features, cross groups and are not in order.
BOOST_AUTO_TEST_CASE(sorf_gives_any_runs_of_features) {
  Int d = 1000, p = 5000;
  auto map = map_of("sorf", kernel("rbf", 20), p);
  Dense x = normal(5, d, 2), expected = cosines(x, sorf_frequencies(*map->kernel(), p / 2, d, 1024), p);
  DataSet data = DataSet::from_matrix(as_matrix(x));
  for (const Index& block : {range_of({3001, 100, 2047}, 901), range_of({4000}, 1000), range_of({1}, 700)}) {
    Dense part = features_of(data, block, map);
    for (Int j = 0; j < block.size(); ++j) BOOST_TEST((part.col(j) - expected.col(block[j])).norm() <= 1e-10);
  }
}

BOOST_AUTO_TEST_CASE(qmc_is_its_formula) {
  Int d = 40, p = 301;
  Dense x = 0.1 * normal(7, d, 3), u = halton((p + 1) / 2, d);
  BOOST_TEST((u.minCoeff() > 0 && u.maxCoeff() < 1));
  Dense normal = u.unaryExpr(&normal_quantile) / 2;
  Dense cauchy = u.unaryExpr([](double v) { return std::tan(std::numbers::pi * (v - 0.5)) / 2; });
  BOOST_TEST(distance(features_of(x, map_of("qmc", kernel("rbf", 2), p)), cosines(x, normal, p)) <= 1e-10);
  BOOST_TEST(distance(features_of(x, map_of("qmc", kernel("laplacian", 2), p)), cosines(x, cauchy, p)) <= 1e-8);
}

// Of b^k points that follow each other, each of the b^k intervals has one.
BOOST_AUTO_TEST_CASE(every_coordinate_of_the_sequence_is_stratified) {
  Dense u = halton(125, 6);
  for (auto [c, intervals] : {std::pair<Int, Int>{0, 64}, {1, 81}, {2, 125}, {3, 49}, {4, 121}, {5, 13}}) {
    std::vector<int> points(intervals);
    for (Int m = 0; m < intervals; ++m) ++points[static_cast<Int>(u(m, c) * intervals)];
    BOOST_TEST(std::count(points.begin(), points.end(), 1) == intervals, "coordinate " << c);
  }
}

BOOST_AUTO_TEST_CASE(quantiles_of_the_normal_law_have_all_their_digits) {
  auto rbf = kernel("rbf", 1);
  for (double u : {1e-17, 1e-9, 1e-3, 0.1, 0.3, 0.5, 0.50001, 0.9, 0.999, 1 - 1e-9}) {
    double x = *rbf->frequency_quantile(u), back = std::erfc(-x / std::numbers::sqrt2) / 2;
    BOOST_TEST(std::abs(back - u) <= 1e-13 * std::max(1.0, x * x) * u, u << " gives " << x << ", and that " << back);
  }
}

BOOST_AUTO_TEST_CASE(they_come_nearer_to_the_kernel_than_independent_frequencies) {
  for (Int d : {6, 70}) {
    Dense x = normal(20, d, 4);
    auto rbf = kernel("rbf", std::sqrt(d));
    double independent = squared_error("fourier", 512, x, rbf);
    for (const char* name : {"sorf", "qmc"}) {
      double here = squared_error(name, 512, x, rbf), more = squared_error(name, 2048, x, rbf);
      // Of the sequence, what is left in many dimensions is the gain of the pairs.
      BOOST_TEST(here < (d == 6 ? 0.8 : 1) * independent,
                 name << ", d = " << d << ": " << here << " for " << independent);
      BOOST_TEST(more < here / 2, name << ", d = " << d << ": " << more << " after " << here);
    }
  }
}

BOOST_AUTO_TEST_CASE(sparse_rows_and_f32_give_the_same_features) {
  Int d = 300, p = 1500;
  for (double length : {1.0, 1e5}) {  // long rows: angles in f64
    Dense x = length * normal(9, d, 5, DType::f32);
    for (Int i = 0; i < x.size(); ++i)
      if (i % 3) x.data()[i] = 0;
    x = x.cast<float>().cast<double>();
    for (const char* name : {"sorf", "qmc"}) {
      auto map = map_of(name, kernel("rbf", 15), p);
      Dense expected = features_of(x, map);
      double most = expected.cwiseAbs().maxCoeff();
      BOOST_TEST(distance(features_of(x, map, DType::f32), expected) <= 1e-5 * most, name << " in f32");
      for (DType type : both_types) {
        DataSet sparse = DataSet::from_matrix(as_matrix(x, type)).to_sparse();
        double tolerance = (type == DType::f32 ? 1e-5 : 1e-9) * most;
        BOOST_TEST(distance(features_of(sparse, Index::range(0, p), map), expected) <= tolerance, name << ", sparse");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(kernels_that_they_do_not_take) {
  BOOST_CHECK_EXCEPTION(map_of("sorf", kernel("laplacian", 1), 10), Error, mentions("isotropic"));
  BOOST_CHECK_EXCEPTION(map_of("qmc", kernel("matern", 1), 10), Error, mentions("matern"));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
