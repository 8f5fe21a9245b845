// Kernel blocks and feature blocks over the same data with their naive dense matrices: what the tests of blocks
// compare.
#pragma once

#include <boost/test/unit_test.hpp>
#include <numbers>

#include "core/elementwise.hpp"
#include "core/timers.hpp"
#include "modules/blocks/block.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {

constexpr Int n = 1100, d = 6, b = 37;  // several panels of rows on one rank, and no round numbers
constexpr std::size_t plenty = std::size_t{1} << 30;

struct Budget {
  std::size_t before = memory::budget();
  explicit Budget(std::size_t bytes) { memory::set_budget(bytes); }
  ~Budget() { memory::set_budget(before); }
};

inline double tolerance(DType type) {
  return type == DType::f32 ? 2e-5 : 1e-12;
}

inline std::shared_ptr<Kernel> kernel(const std::string& name, const Parameters& params) {
  for (auto& format : kernel_formats())
    if (format.name == name) return format.make(params);
  throw Error("no such kernel: " + name);
}

inline constexpr double gamma = 0.2;

inline std::shared_ptr<Kernel> rbf() {
  return kernel("rbf", {{"gamma", gamma}});
}

inline std::shared_ptr<FeatureMap> fourier(Int p, std::uint64_t seed) {
  for (auto& format : feature_map_formats())
    if (format.name == "fourier") return format.make(rbf(), p, seed);
  throw Error("no map of the name fourier");
}

// √(2/p) cos(ω_j·x + b_j) one by one, with ω_j and b_j from the generator.
inline Dense naive_features(const Dense& x, const Index& features, Int p, std::uint64_t seed) {
  Dense z(x.rows(), features.size());
  for (Int k = 0; k < features.size(); ++k) {
    std::vector<double> omega(x.cols());
    Random(seed, Stream::frequency).normals(features[k], omega);
    double phase = 2 * std::numbers::pi * Random(seed, Stream::phase).uniform(features[k], 0);
    for (Int i = 0; i < x.rows(); ++i) {
      double t = phase;
      for (Int j = 0; j < x.cols(); ++j) t += std::sqrt(2 * gamma) * omega[j] * x(i, j);
      z(i, k) = std::sqrt(2.0 / static_cast<double>(p)) * std::cos(t);
    }
  }
  return z;
}

// A block and what it should be, all rows; a block of either kind over the same data.
struct Example {
  std::string what;
  std::shared_ptr<Block> block;
  Dense all;
};

inline std::vector<Example> examples(DType type) {
  Dense x = normal(n, d, 1, type);
  DataSet data = DataSet::from_matrix(as_matrix(x, type));
  Index columns = Index::sample(n, b, 1, 0), features = Index::sample(500, b, 2, 0);
  return {
      {"kernel", kernel_block(data, columns, rbf(), {}, data), naive_rbf(gamma)(x, rows_of(x, columns))},
      {"features", random_features_block(data, features, fourier(500, 9), {}), naive_features(x, features, 500, 9)}};
}

}  // namespace kbcd::tests
