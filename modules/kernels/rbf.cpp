// rbf: K(x, y) = exp(−γ ‖x − y‖²) with γ = 1 / (2 σ²). Its spectral measure is N(0, 2γ I).
#include <cmath>
#include <numbers>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

// Φ⁻¹(u): Winitzki's formula, within 0.004, and two steps of Halley's method on Φ.
double normal_quantile(double u) {
  if (u > 0.5) return -normal_quantile(1 - u);
  constexpr double a = 0.147;
  double log = std::log(4 * u * (1 - u)), half = 2 / (std::numbers::pi * a) + log / 2;
  double x = -std::numbers::sqrt2 * std::sqrt(std::sqrt(half * half - log / a) - half);
  for (int step = 0; step < 2; ++step) {
    double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - u;
    double newton = error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
    x -= newton / (1 + x * newton / 2);
  }
  return x;
}

class Rbf : public KernelOf<Rbf, Metric::sqeuclidean> {
 public:
  explicit Rbf(const Params& p) : gamma_(gamma_or_sigma(p, [](double sigma) { return 1 / (2 * sigma * sigma); })) {}

  std::string name() const override { return "rbf"; }
  Values params() const override { return {{"gamma", gamma_}, {"sigma", std::sqrt(1 / (2 * gamma_))}}; }

  template <class Array>
  void operator()(Array& t) const {
    t = (t * typename Array::Scalar(-gamma_)).exp();
  }

  template <class Array>
  void derivative(Array& t) const {  // of t = ‖x − y‖²
    using T = typename Array::Scalar;
    t = T(-gamma_) * (t * T(-gamma_)).exp();
  }

  void frequency(std::uint64_t seed, Int j, std::span<double> omega) const override {
    Random(seed, Stream::frequency).normals(j, omega);
    for (double& w : omega) w *= std::sqrt(2 * gamma_);
  }
  bool isotropic() const override { return true; }
  std::optional<double> frequency_quantile(double u) const override {
    return std::sqrt(2 * gamma_) * normal_quantile(u);
  }

  double value(std::span<const double> x, std::span<const double> y) const override {
    return std::exp(-gamma_ * metric_value(Metric::sqeuclidean, x, y));
  }

 private:
  double gamma_;
};

const RegisteredKernel<Rbf> rbf({
    .name = "rbf",
    .formula = "exp(-gamma |x-y|^2), gamma = 1/(2 sigma^2)",
    .params = {{.name = "gamma", .help = "1/(2 sigma^2)", .kind = Kind::positive, .instead_of = "sigma"},
               {.name = "sigma", .help = "the width", .kind = Kind::positive, .required = true}},
    .width = "sigma",
});

}  // namespace
}  // namespace kbcd
