// Features from a frame's neighbours; beyond the ends of an utterance, its first and last frame are repeated.
//
//     deltas(t) = sum_{i=1..r} i (x_{t+i} - x_{t-i}) / (2 sum_i i^2)
//     splice(t) = (x_{t-r}, …, x_t, …, x_{t+r})
#pragma once

#include "core/matrix.hpp"

namespace kbcd::speech {

Matrix deltas(const Matrix& x, Int reach);
Int spliced_cols(const Matrix& x, Int reach);                 // (2 reach + 1) cols
void splice(const Matrix& x, Int reach, const Matrix& into);  // into: a row a frame, (2 reach + 1) times as wide

}  // namespace kbcd::speech
