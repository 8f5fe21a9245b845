// laplacian: K(x, y) = exp(−γ ‖x − y‖₁) with γ = 1 / σ. Its spectral measure is a product of Cauchy(0, γ).
#include <cmath>
#include <numbers>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Laplacian : public KernelOf<Laplacian, Metric::manhattan> {
 public:
  explicit Laplacian(const Params& p) : gamma_(gamma_or_sigma(p, [](double sigma) { return 1 / sigma; })) {}

  std::string name() const override { return "laplacian"; }
  Values params() const override { return {{"gamma", gamma_}, {"sigma", 1 / gamma_}}; }

  template <class Array>
  void operator()(Array& t) const {
    t = (t * typename Array::Scalar(-gamma_)).exp();
  }

  template <class Array>
  void derivative(Array& t) const {  // of t = ‖x − y‖₁
    using T = typename Array::Scalar;
    t = T(-gamma_) * (t * T(-gamma_)).exp();
  }

  void frequency(std::uint64_t seed, Int j, std::span<double> omega) const override {
    Random random(seed, Stream::frequency);
    for (std::size_t i = 0; i < omega.size(); ++i) omega[i] = *frequency_quantile(random.uniform(j, i));
  }
  std::optional<double> frequency_quantile(double u) const override {
    return gamma_ * std::tan(std::numbers::pi * (u - 0.5));
  }

  double value(std::span<const double> x, std::span<const double> y) const override {
    return std::exp(-gamma_ * metric_value(Metric::manhattan, x, y));
  }

 private:
  double gamma_;
};

const RegisteredKernel<Laplacian> laplacian({
    .name = "laplacian",
    .formula = "exp(-gamma |x-y|_1), gamma = 1/sigma",
    .params = {{.name = "gamma", .help = "1/sigma", .kind = Kind::positive, .instead_of = "sigma"},
               {.name = "sigma", .help = "the width", .kind = Kind::positive, .required = true}},
    .width = "sigma",
});

}  // namespace
}  // namespace kbcd
