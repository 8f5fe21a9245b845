// polynomial: K(x, y) = (γ x·y + c)^degree.
#include <cmath>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Polynomial : public KernelOf<Polynomial, Metric::dot> {
 public:
  explicit Polynomial(const Params& p) : degree_(p.number("degree")), gamma_(p.number("gamma")), c_(p.number("c")) {}

  std::string name() const override { return "polynomial"; }
  Values params() const override { return {{"degree", degree_}, {"gamma", gamma_}, {"c", c_}}; }

  template <class Array>
  void operator()(Array& t) const {
    using T = typename Array::Scalar;
    for (auto& value : t) {
      T base = T(gamma_) * value + T(c_), power = base;
      for (int i = 1; i < static_cast<int>(degree_); ++i) power *= base;
      value = power;
    }
  }

  double value(std::span<const double> x, std::span<const double> y) const override {
    return std::pow(gamma_ * metric_value(Metric::dot, x, y) + c_, degree_);
  }

 private:
  double degree_, gamma_, c_;
};

const RegisteredKernel<Polynomial> polynomial({
    .name = "polynomial",
    .formula = "(gamma x.y + c)^degree",
    .params = {{.name = "degree", .help = "the power", .kind = Kind::count, .most = 64, .otherwise = 3},
               {.name = "gamma", .help = "the factor of x.y", .kind = Kind::positive, .otherwise = 1},
               {.name = "c", .help = "the constant", .kind = Kind::not_negative, .otherwise = 1}},
});

}  // namespace
}  // namespace kbcd
