// The power spectrum of each row of frames, padded with zeros to an even number N of samples:
//
//     P(t, k) = |sum_s frame(t, s) e^(-2 pi i k s / N)|^2,     k = 0..N/2
#pragma once

#include "core/matrix.hpp"

namespace kbcd::speech {

Int transform_size(Int length);  // the least power of two that is not smaller; at least 2
Matrix power_spectrum(const Matrix& frames, Int size);

}  // namespace kbcd::speech
