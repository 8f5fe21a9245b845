#include "modules/speech/spectrum.hpp"

#include <fftw3.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace kbcd::speech {
namespace {

// Planning is not thread-safe in FFTW, execution is. An estimated plan is the same on every run and rank; kept as long
// as the program.
fftw_plan plan_of(int size) {
  static std::mutex mutex;
  static std::map<int, fftw_plan> plans;
  std::lock_guard lock(mutex);
  fftw_plan& plan = plans[size];
  if (!plan) {
    std::vector<double> in(size), out(2 * (size / 2 + 1));
    plan = fftw_plan_dft_r2c_1d(size, in.data(), reinterpret_cast<fftw_complex*>(out.data()),
                                FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT);
    require(plan != nullptr, "power_spectrum: FFTW has no plan for a transform of {} samples", size);
  }
  return plan;
}

}  // namespace

Int transform_size(Int length) {
  Int size = 2;
  while (size < length) size *= 2;
  return size;
}

Matrix power_spectrum(const Matrix& frames, Int size) {
  require(size >= frames.cols() && size >= 2 && size % 2 == 0 && size <= 1 << 24,
          "power_spectrum: an even size of at least a frame's {} samples expected, got {}", frames.cols(), size);
  Matrix in = frames.contiguous(DType::f64), out(frames.rows(), size / 2 + 1, DType::f64);
  auto x = in.view<double>(), p = out.view<double>();
  fftw_plan plan = plan_of(static_cast<int>(size));
  parallel_for(x.rows, x.rows * size * 16, [&](Int t) {
    thread_local std::vector<double> padded, spectrum;
    padded.assign(size, 0.0);
    spectrum.resize(2 * p.cols);
    std::copy_n(x.line(t), x.cols, padded.data());
    fftw_execute_dft_r2c(plan, padded.data(), reinterpret_cast<fftw_complex*>(spectrum.data()));
    for (Int k = 0; k < p.cols; ++k)
      p(t, k) = spectrum[2 * k] * spectrum[2 * k] + spectrum[2 * k + 1] * spectrum[2 * k + 1];
  });
  return out;
}

}  // namespace kbcd::speech
