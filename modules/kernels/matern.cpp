// matern, with r = ‖x − y‖ / σ:  ν = 1/2: exp(−r);  ν = 3/2: (1 + √3 r) exp(−√3 r);
// ν = 5/2: (1 + √5 r + 5 r²/3) exp(−√5 r). Its spectral measure is a multivariate t with 2ν degrees of
// freedom.
#include <array>
#include <cmath>
#include <limits>

#include "modules/kernels/kernel.hpp"

namespace kbcd {
namespace {

class Matern : public KernelOf<Matern, Metric::sqeuclidean> {
 public:
  explicit Matern(const Params& p) : nu_(p.number("nu")), sigma_(p.number("sigma")) {}

  std::string name() const override { return "matern"; }
  Values params() const override { return {{"nu", nu_}, {"sigma", sigma_}}; }

  template <class Array>
  void operator()(Array& t) const {
    using T = typename Array::Scalar;
    t = (t.sqrt() * T(std::sqrt(2 * nu_) / sigma_)).min(T(1000));  // exp(−1000) is 0, and t² must not overflow
    if (nu_ == 0.5) t = (-t).exp();
    if (nu_ == 1.5) t = (T(1) + t) * (-t).exp();
    if (nu_ == 2.5) t = (T(1) + t + t.square() * T(1.0 / 3)) * (-t).exp();
  }

  // dκ/d(s²) of the distance s, with a = √(2ν) / σ and t = a s: −a² / 2 times exp(−t) / t, exp(−t), (1 + t) exp(−t)
  // / 3. The first has no limit at s = 0, where the kernel has a cusp: it is 0 there, the mean over all directions.
  template <class Array>
  void derivative(Array& t) const {
    using T = typename Array::Scalar;
    const T a = T(std::sqrt(2 * nu_) / sigma_), half = -a * a / 2, least = std::numeric_limits<T>::epsilon();
    t = (t.sqrt() * a).min(T(1000));
    if (nu_ == 0.5) t = (t > least).select(half * (-t).exp() / t.max(least), T(0));
    if (nu_ == 1.5) t = half * (-t).exp();
    if (nu_ == 2.5) t = half * T(1.0 / 3) * (T(1) + t) * (-t).exp();
  }

  void frequency(std::uint64_t seed, Int j, std::span<double> omega) const override {
    int freedom = static_cast<int>(2 * nu_);
    std::array<double, 5> z;
    Random(seed, Stream::radius).normals(j, {z.data(), static_cast<std::size_t>(freedom)});
    double chi2 = 0;
    for (int i = 0; i < freedom; ++i) chi2 += z[i] * z[i];
    Random(seed, Stream::frequency).normals(j, omega);
    for (double& w : omega) w *= std::sqrt(freedom / chi2) / sigma_;
  }
  bool isotropic() const override { return true; }

  double value(std::span<const double> x, std::span<const double> y) const override {
    double r = std::sqrt(metric_value(Metric::sqeuclidean, x, y)) / sigma_;
    if (nu_ == 0.5) return std::exp(-r);
    if (nu_ == 1.5) return (1 + std::sqrt(3) * r) * std::exp(-std::sqrt(3) * r);
    return (1 + std::sqrt(5) * r + 5 * r * r / 3) * std::exp(-std::sqrt(5) * r);
  }

 private:
  double nu_, sigma_;
};

const RegisteredKernel<Matern> matern({
    .name = "matern",
    .formula = "nu = 0.5: exp(-r), 1.5: (1+t) exp(-t), 2.5: (1+t+t^2/3) exp(-t); r = |x-y|/sigma, t = sqrt(2 nu) r",
    .params = {{.name = "nu", .help = "smoothness", .kind = Kind::one_of, .choices = {0.5, 1.5, 2.5}, .otherwise = 1.5},
               {.name = "sigma", .help = "the width", .kind = Kind::positive, .required = true}},
    .width = "sigma",
});

}  // namespace
}  // namespace kbcd
