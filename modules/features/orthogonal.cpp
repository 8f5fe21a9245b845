// orthogonal: Fourier cosines whose frequencies are orthogonal within each group of d: ω_j = ‖ω'_j‖ q_j, with
// ω'_j as in `fourier` and q_j a row of a random rotation of the group (Yu et al., 2016). For kernels whose
// measure is isotropic.
#include <cmath>
#include <map>

#include "core/blas.hpp"
#include "core/random.hpp"
#include "modules/features/feature_map.hpp"

namespace kbcd {
namespace {

class Orthogonal : public CosineMap {
 public:
  explicit Orthogonal(MapSettings settings) : CosineMap(std::move(settings)) {
    require(kernel()->isotropic(),
            "features.orthogonal: a kernel of |x-y| expected (whose measure is isotropic), got {}; fourier takes it",
            kernel()->name());
  }
  std::string name() const override { return "orthogonal"; }

 protected:
  void frequencies(const Index& features, View<double> omega) const override {
    Int d = omega.cols;
    std::vector<double> drawn(d);
    for (Int i = 0; i < features.size(); ++i) {
      settings_.kernel->frequency(settings_.seed, features[i], drawn);
      double radius = 0;
      for (double w : drawn) radius += w * w;
      radius = std::sqrt(radius);
      auto rotation = rotation_of(features[i] / d, d).view<double>();
      for (Int j = 0; j < d; ++j) omega(i, j) = radius * rotation(features[i] % d, j);
    }
  }

 private:
  // The Q of a Gaussian d x d matrix, R's diagonal positive: uniform over rotations and reflections. Kept,
  // since the blocks of a random partition touch every group.
  Matrix rotation_of(Int group, Int d) const {
    auto& kept = rotations_[{group, d}];
    if (kept.size() == 0) {
      Matrix gaussian(d, d, DType::f64);
      Random random(settings_.seed, Stream::rotation, static_cast<std::uint32_t>(d));
      auto v = gaussian.view<double>();
      for (Int i = 0; i < d; ++i) random.normals(group * d + i, {v.line(i), static_cast<std::size_t>(d)});
      kept = blas::qr(gaussian).q;
    }
    return kept;
  }

  mutable std::map<std::pair<Int, Int>, Matrix> rotations_;
};

const RegisteredFeatureMap<Orthogonal> orthogonal(
    {.name = "orthogonal", .formula = "sqrt(2/p) cos(omega_j.x + b_j), omega_j orthogonal in groups of d"});

}  // namespace
}  // namespace kbcd
