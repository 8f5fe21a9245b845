// rbf: K(x, y) = exp(−γ ‖x − y‖²) with γ = 1 / (2 σ²). Its spectral measure is N(0, 2γ I).
#include <cmath>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Rbf : public KernelOf<Rbf, Metric::sqeuclidean> {
 public:
  explicit Rbf(const Params& p) : gamma_(p.gamma_or_sigma([](double sigma) { return 1 / (2 * sigma * sigma); })) {}

  std::string name() const override { return "rbf"; }
  std::map<std::string, double> params() const override {
    return {{"gamma", gamma_}, {"sigma", std::sqrt(1 / (2 * gamma_))}};
  }

  template <class Array>
  void operator()(Array& t) const {
    t = (t * typename Array::Scalar(-gamma_)).exp();
  }

  void frequency(std::uint64_t seed, Int j, std::span<double> omega) const override {
    Random(seed, Stream::frequency).normals(j, omega);
    for (double& w : omega) w *= std::sqrt(2 * gamma_);
  }
  bool isotropic() const override { return true; }

 private:
  double gamma_;
};

const RegisteredKernel<Rbf> rbf("rbf", {"gamma", "sigma"}, "exp(-gamma |x-y|^2), gamma = 1/(2 sigma^2)");

}  // namespace
}  // namespace kbcd
