// polynomial: K(x, y) = (γ x·y + c)^degree.
#include <cmath>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Polynomial : public KernelOf<Polynomial, Metric::dot> {
 public:
  explicit Polynomial(const Params& p)
      : degree_(p.positive("degree", 3)), gamma_(p.positive("gamma", 1)), c_(p.any("c", 1)) {
    if (degree_ != std::floor(degree_) || degree_ > 64)
      p.complain(fmt::format("a whole degree from 1 to 64 expected, got {}", degree_));
    if (c_ < 0) p.complain(fmt::format("c >= 0 expected (else it is no kernel), got {}", c_));
  }

  std::string name() const override { return "polynomial"; }
  std::map<std::string, double> params() const override { return {{"degree", degree_}, {"gamma", gamma_}, {"c", c_}}; }

  template <class Array>
  void operator()(Array& t) const {
    using T = typename Array::Scalar;
    for (auto& value : t) {
      T base = T(gamma_) * value + T(c_), power = base;
      for (int i = 1; i < static_cast<int>(degree_); ++i) power *= base;
      value = power;
    }
  }

 private:
  double degree_, gamma_, c_;
};

const RegisteredKernel<Polynomial> polynomial("polynomial", {"degree", "gamma", "c"},
                                              "(gamma x.y + c)^degree; degree = 3, gamma = 1, c = 1 unless given");

}  // namespace
}  // namespace kbcd
