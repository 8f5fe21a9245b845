#include "modules/speech/mel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/blas.hpp"
#include "core/elementwise.hpp"

namespace kbcd::speech {
namespace {

double mel(double hertz) {
  return 1127 * std::log1p(hertz / 700);
}

}  // namespace

Matrix mel_bands(Int rate, Int size, const MelOptions& options) {
  double half = static_cast<double>(rate) / 2, high = options.high == 0 ? half : options.high;
  require(options.bands >= 1, "mel: at least one band expected, got {}", options.bands);
  require(options.low >= 0 && options.low < high && high <= half,
          "mel: 0 <= low < high <= {} Hz (half the rate) expected, got {} and {}", half, options.low, high);
  double first = mel(options.low), width = (mel(high) - first) / static_cast<double>(options.bands + 1);
  Matrix bands = Matrix::zeros(options.bands, size / 2 + 1);
  for (Int j = 0; j < bands.rows(); ++j) {
    double peak = first + static_cast<double>(j + 1) * width, sum = 0;
    for (Int k = 0; k < bands.cols(); ++k) {
      double hertz = static_cast<double>(k) * static_cast<double>(rate) / static_cast<double>(size);
      double height = std::max(0.0, 1 - std::abs(mel(hertz) - peak) / width);
      bands.set(j, k, height);
      sum += height;
    }
    require(sum > 0, "mel: band {} of {} has no frequency of a {}-point transform in it; fewer bands expected", j + 1,
            options.bands, size);
  }
  return bands;
}

Matrix log_mel(const Matrix& power, Int rate, const MelOptions& options) {
  require(power.cols() >= 2, "log_mel: a power spectrum expected, got {}", power.shape());
  require(options.floor > 0, "log_mel: a floor > 0 expected, got {}", options.floor);
  Matrix bands = mel_bands(rate, 2 * (power.cols() - 1), options);
  Matrix from = power.contiguous(DType::f64), energy(power.rows(), bands.rows(), DType::f64);
  blas::gemm(1, from.view<double>(), bands.t().view<double>(), false, energy.view<double>());
  clamp(energy, options.floor, std::numeric_limits<double>::infinity());
  apply(energy, Unary::log);
  return energy;
}

Matrix mfcc(const Matrix& log_mel, Int coefficients, double lifter) {
  Int bands = log_mel.cols();
  require(coefficients >= 1 && coefficients <= bands, "mfcc: 1 to {} coefficients of {} bands expected, got {}", bands,
          bands, coefficients);
  require(lifter >= 0, "mfcc: a lifter >= 0 expected, got {}", lifter);
  auto b = static_cast<double>(bands);
  Matrix transform(bands, coefficients, DType::f64);
  for (Int i = 0; i < coefficients; ++i) {
    auto c = static_cast<double>(i);
    double lift = lifter > 0 ? 1 + lifter / 2 * std::sin(std::numbers::pi * c / lifter) : 1;
    double unit = std::sqrt((i ? 2 : 1) / b) * lift;
    for (Int j = 0; j < bands; ++j)
      transform.set(j, i, unit * std::cos(std::numbers::pi * c * (static_cast<double>(j) + 0.5) / b));
  }
  Matrix from = log_mel.contiguous(DType::f64), out(log_mel.rows(), coefficients, DType::f64);
  blas::gemm(1, from.view<double>(), transform.view<double>(), false, out.view<double>());
  return out;
}

}  // namespace kbcd::speech
