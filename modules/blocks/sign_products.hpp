// Sums of signed weights, of which gradients of models with kernels of |x − y|₁ are made.
#pragma once

#include "core/matrix.hpp"

namespace kbcd {

// out(i, e) = Σ_j w(j, i) a_j sign(z(i, e) − c(j, e)): of c x m weights w, c x 1 numbers a, rows c (c x d) and z (m x
// d). The result is m x d in f64.
Matrix sign_products(const Matrix& w, const Matrix& a, const Matrix& c, const Matrix& z);

}  // namespace kbcd
