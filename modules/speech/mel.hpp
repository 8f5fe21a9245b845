// Energies in bands that are equally wide on the mel scale, mel(f) = 1127 ln(1 + f / 700), and their cosine transform.
//
// Band j of B is a triangle over mel: 0 at m_j, 1 at m_{j+1}, 0 at m_{j+2}, where m_0..m_{B+1} divide
// [mel(low), mel(high)] evenly. With W(j, k) its height at the frequency of bin k and c(j, t) = ln max(floor, sum_k W
// P),
//
//     log_mel(t, j) = c(j, t),     mfcc(t, i) = u_i sum_j log_mel(t, j) cos(pi i (j + 1/2) / B),     i = 0..C-1
//
// with u_0 = sqrt(1/B), u_i = sqrt(2/B); and with a lifter Q > 0, coefficient i times 1 + Q/2 sin(pi i / Q).
#pragma once

#include "core/matrix.hpp"

namespace kbcd::speech {

struct MelOptions {
  Int bands = 40;
  double low = 20, high = 0;  // Hz; high 0: half the rate
  double floor = 1e-10;       // so that silence has a logarithm
};

Matrix mel_bands(Int rate, Int size, const MelOptions& options);  // W, bands x (size / 2 + 1)
Matrix log_mel(const Matrix& power, Int rate, const MelOptions& options);
Matrix mfcc(const Matrix& log_mel, Int coefficients, double lifter);

}  // namespace kbcd::speech
