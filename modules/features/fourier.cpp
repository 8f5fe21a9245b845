// fourier: z_j(x) = √(2/p) cos(ω_j·x + b_j) with ω_j from the kernel's spectral measure and b_j from Unif[0,
// 2π] (Rahimi and Recht, 2007).
#include "modules/features/feature_map.hpp"

namespace kbcd {
namespace {

class Fourier : public CosineMap {
 public:
  using CosineMap::CosineMap;
  std::string name() const override { return "fourier"; }

 protected:
  void frequencies(const Index& features, View<double> omega) const override {
    parallel_for(features.size(), omega.rows * omega.cols * 16, [&](Int i) {
      settings_.kernel->frequency(settings_.seed, features[i], {omega.line(i), static_cast<std::size_t>(omega.cols)});
    });
  }
  Int made_at_once(Int) const override { return 16; }
};

const RegisteredFeatureMap<Fourier> fourier({.name = "fourier",
                                             .formula = "sqrt(2/p) cos(omega_j.x + b_j), omega_j independent"});

}  // namespace
}  // namespace kbcd
