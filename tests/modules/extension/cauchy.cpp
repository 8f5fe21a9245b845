// cauchy: K(x, y) = (1 + ‖x − y‖²/σ²)^−power. It is E exp(−s ‖x − y‖²/σ²) for s ~ Gamma(power), a sum of so many
// standard exponentials, so that its frequencies are N(0, 2 s/σ² I).
//
// A kernel beyond those of kbcd: this file is all of it. The contract tests, kernel.cauchy, its help and the flags of
// the commands must come from here alone.
#include <cmath>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Cauchy : public KernelOf<Cauchy, Metric::sqeuclidean> {
 public:
  explicit Cauchy(const Params& p) : sigma_(p.number("sigma")), power_(p.number("power")) {}

  std::string name() const override { return "cauchy"; }
  Values params() const override { return {{"sigma", sigma_}, {"power", power_}}; }

  template <class Array>
  void operator()(Array& t) const {
    using T = typename Array::Scalar;
    t = ((t * T(1 / (sigma_ * sigma_)) + T(1)).log() * T(-power_)).exp();
  }

  void frequency(std::uint64_t seed, Int j, std::span<double> omega) const override {
    Random radius(seed, Stream::radius);
    double s = 0;
    for (int i = 0; i < static_cast<int>(power_); ++i) s -= std::log(radius.uniform(j, i));
    Random(seed, Stream::frequency).normals(j, omega);
    for (double& w : omega) w *= std::sqrt(2 * s) / sigma_;
  }
  bool isotropic() const override { return true; }

  double value(std::span<const double> x, std::span<const double> y) const override {
    return std::pow(1 + metric_value(Metric::sqeuclidean, x, y) / (sigma_ * sigma_), -power_);
  }

 private:
  double sigma_, power_;
};

const RegisteredKernel<Cauchy> cauchy({
    .name = "cauchy",
    .formula = "(1 + |x-y|^2/sigma^2)^-power",
    .params = {{.name = "sigma", .help = "the width", .kind = Kind::positive, .required = true},
               {.name = "power", .help = "how fast it falls", .kind = Kind::count, .most = 20, .otherwise = 1}},
    .width = "sigma",
});

}  // namespace
}  // namespace kbcd
