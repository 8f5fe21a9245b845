#include "modules/features/feature_map.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/random.hpp"

namespace kbcd {
namespace {

std::vector<FeatureMapFormat>& formats() {
  static std::vector<FeatureMapFormat> formats;
  return formats;
}

class CosineBlock : public FeatureBlock {
 public:
  CosineBlock(Matrix omega, Matrix phase, double scale) : omega_(omega), phase_(phase), scale_(scale) {}
  void apply(View<float> x, View<float> z) const override { cosines(x, z); }
  void apply(View<double> x, View<double> z) const override { cosines(x, z); }

 private:
  template <class T>
  void cosines(View<T> x, View<T> z) const {
    using Line = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;
    blas::gemm(T(1), x, omega_.view<T>().t(), false, z);
    Line phase(phase_.view<T>().data, z.cols);
    for (Int i = 0; i < z.rows; ++i) {
      Line line(z.line(i), z.cols);
      line = T(scale_) * (line + phase).cos();
    }
  }

  Matrix omega_, phase_;
  double scale_;
};

}  // namespace

CosineMap::CosineMap(std::shared_ptr<Kernel> kernel, Int p, std::uint64_t seed)
    : kernel_(std::move(kernel)), p_(p), seed_(seed) {
  require(p >= 1, "features: p >= 1 expected, got {}", p);
  double probe[2];
  kernel_->frequency(seed, 0, probe);  // a kernel without a spectral measure says so now
}

std::string CosineMap::describe() const {
  return fmt::format("{}{{kernel={}, p={}, seed={}}}", name(), kbcd::describe(*kernel_), p_, seed_);
}

std::shared_ptr<FeatureBlock> CosineMap::block(const Index& features, Int d, DType dtype) const {
  Matrix omega(features.size(), d, DType::f64), phase(1, features.size(), DType::f64);
  frequencies(features, omega.view<double>());
  Random random(seed_, Stream::phase);
  auto v = phase.view<double>();
  for (Int i = 0; i < features.size(); ++i) v(0, i) = 2 * std::numbers::pi * random.uniform(features[i], 0);
  return std::make_shared<CosineBlock>(omega.contiguous(dtype), phase.contiguous(dtype), std::sqrt(2.0 / p_));
}

const std::vector<FeatureMapFormat>& feature_map_formats() {
  return formats();
}

void register_feature_map(FeatureMapFormat format) {
  auto& all = formats();
  all.push_back(std::move(format));
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; });
}

}  // namespace kbcd
