// A recording cut into windows: frame t begins at S_t = round(t step rate), so that it stays at its time t step also
// where a step is no whole number of samples. It has the samples x_s = samples[S_t + s], s = 0..L-1, where it has all
// of them, and
//
//     frame(t, s) = w_s (z_s - a z_{s-1}),     z = x - mean(x),     z_{-1} = z_0
//
// with the window w: hamming 0.54 - 0.46 cos(2 pi s / (L - 1)), hann 0.5 - 0.5 cos(…), or rectangular 1.
#pragma once

#include <string>

#include "core/matrix.hpp"

namespace kbcd::speech {

struct FrameOptions {
  double length = 0.025, step = 0.010;  // seconds; L is the length times the rate, rounded
  std::string window = "hamming";
  double preemphasis = 0.97;  // a
  bool center = true;         // whether the mean of each frame is taken off
};

// How many frames fit into so many samples: none where there is not enough for one.
Int frame_count(Int samples, Int rate, const FrameOptions& options);
// A row each, f64. Too few samples for one frame are an error.
Matrix frames(const Matrix& samples, Int rate, const FrameOptions& options);

}  // namespace kbcd::speech
