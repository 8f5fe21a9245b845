// The two inner loops of randomly pivoted Cholesky with rejection (scripts/kbcd/centers/rpcholesky.lua).
#pragma once

#include "core/index.hpp"
#include "core/matrix.hpp"

namespace kbcd {

// For each row t of u, a number drawn in proportion to the n weights (n x 1, f64) by their cumulative sums and u(t, 0).
Index draw_pivots(const Matrix& weights, const Matrix& u);

// Which of the b draws are accepted: j with probability H_jj / d_j, by u(j, 1), and then it is eliminated from the b x
// b matrix H (f64), where it leaves its column of L. d is b x 1.
Index accept_pivots(const Matrix& h, const Matrix& d, const Matrix& u);

}  // namespace kbcd
