// shifted: the Fourier cosines of the frequencies from number `first` on. A map beyond those of kbcd, with a parameter
// of its own: this file is all of it.
#include "modules/features/feature_map.hpp"

namespace kbcd {
namespace {

class Shifted : public CosineMap {
 public:
  using CosineMap::CosineMap;
  std::string name() const override { return "shifted"; }

 protected:
  void frequencies(const Index& features, View<double> omega) const override {
    Int first = *settings_.own.get<Int>("first") - 1;
    for (Int i = 0; i < features.size(); ++i)
      kernel()->frequency(*seed(), features[i] + first, {omega.line(i), static_cast<std::size_t>(omega.cols)});
  }
};

const RegisteredFeatureMap<Shifted> shifted({
    .name = "shifted",
    .formula = "sqrt(2/p) cos(omega_k.x + b_j), k = j + first - 1",
    .params = {{.name = "first", .help = "the number of the first frequency", .kind = Kind::count, .otherwise = 1}},
});

}  // namespace
}  // namespace kbcd
