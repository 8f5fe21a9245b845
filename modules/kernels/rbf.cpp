// rbf: K(x, y) = exp(−γ ‖x − y‖²) with γ = 1 / (2 σ²). Its spectral measure is N(0, 2γ I).
#include <cmath>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Rbf : public KernelOf<Rbf, Metric::sqeuclidean> {
 public:
  explicit Rbf(const Params& p) : gamma_(gamma_or_sigma(p, [](double sigma) { return 1 / (2 * sigma * sigma); })) {}

  std::string name() const override { return "rbf"; }
  Values params() const override { return {{"gamma", gamma_}, {"sigma", std::sqrt(1 / (2 * gamma_))}}; }

  template <class Array>
  void operator()(Array& t) const {
    t = (t * typename Array::Scalar(-gamma_)).exp();
  }

  void frequency(std::uint64_t seed, Int j, std::span<double> omega) const override {
    Random(seed, Stream::frequency).normals(j, omega);
    for (double& w : omega) w *= std::sqrt(2 * gamma_);
  }
  bool isotropic() const override { return true; }

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
