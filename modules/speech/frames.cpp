#include "modules/speech/frames.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace kbcd::speech {
namespace {

std::vector<double> window(const std::string& name, Int length) {
  bool hamming = name == "hamming", hann = name == "hann";
  require(hamming || hann || name == "rectangular", "frames: a window hamming, hann or rectangular expected, got '{}'",
          name);
  std::vector<double> w(length, 1.0);
  if (!hamming && !hann) return w;
  double mean = hamming ? 0.54 : 0.5, turn = 2 * std::numbers::pi / std::max<double>(1, length - 1.0);
  for (Int s = 0; s < length; ++s) w[s] = mean - (1 - mean) * std::cos(turn * static_cast<double>(s));
  return w;
}

double samples_in(double seconds, Int rate) {
  double samples = seconds * static_cast<double>(rate);
  require(std::isfinite(samples) && samples >= 0.5 && samples < 0x1p31,
          "frames: a length and a step of at least one sample expected, got {} s at {} samples a second", seconds,
          rate);
  return samples;
}

// Frames in samples of this rate: how long, and where each begins.
struct Places {
  Int length;
  double step;  // perhaps no whole number

  Places(Int rate, const FrameOptions& options)
      : length(std::llround(samples_in(options.length, rate))), step(samples_in(options.step, rate)) {}
  Int start(Int t) const { return std::llround(static_cast<double>(t) * step); }
  Int count(Int samples) const {
    Int last_start = samples - length;
    if (last_start < 0) return 0;
    auto last = static_cast<Int>(static_cast<double>(last_start + 1) / step);  // rounding may put it one or two too far
    while (start(last) > last_start) --last;
    return last + 1;
  }
};

}  // namespace

Int frame_count(Int samples, Int rate, const FrameOptions& options) {
  return Places(rate, options).count(samples);
}

Matrix frames(const Matrix& samples, Int rate, const FrameOptions& options) {
  require(samples.cols() == 1, "frames: samples in one column expected, got {}", samples.shape());
  Places places(rate, options);
  Int length = places.length, count = places.count(samples.rows());
  require(count > 0, "frames: {} samples are too few for one frame of {}", samples.rows(), length);
  Matrix from = samples.contiguous(DType::f64), out(count, length, DType::f64);
  const double* x = from.view<double>().data;
  auto v = out.view<double>();
  auto w = window(options.window, length);
  double a = options.preemphasis;
  parallel_for(count, count * length * 4, [&](Int t) {
    const double* z = x + places.start(t);
    double* y = v.line(t);
    double mean = options.center ? std::accumulate(z, z + length, 0.0) / static_cast<double>(length) : 0;
    for (Int s = 0; s < length; ++s) y[s] = w[s] * ((z[s] - mean) - a * (z[s ? s - 1 : 0] - mean));
  });
  return out;
}

}  // namespace kbcd::speech
