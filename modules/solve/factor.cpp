#include "modules/solve/factor.hpp"

#include <limits>

#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/timers.hpp"

namespace kbcd {

Factor::Factor(const Matrix& h, bool may_jitter, const char* what) {
  Timer timer("chol");
  require(h.rows() == h.cols() && h.rows() > 0, "{}: a square Matrix expected, got {}", what, h.shape());
  require(all_finite(h), "{}: the {} matrix has NaN or Inf in it", what, h.shape());
  double step = 1e-2 * std::numeric_limits<double>::epsilon() * trace(h);
  double most = 1e10 * step;
  for (;;) {
    l_ = h.to(DType::f64);
    if (jitter_ > 0) add_diagonal(l_, jitter_);
    Int pivot = blas::cholesky(l_.view<double>());
    if (pivot == 0) return;
    require(may_jitter, "{}: {} matrix is not positive definite (pivot {}); raise lambda or gamma, or ask for jitter",
            what, h.shape(), pivot);
    require(step > 0, "{}: {} matrix is not positive definite and jitter cannot help: its trace is {}", what, h.shape(),
            trace(h));
    require(jitter_ < most, "{}: {} matrix is not positive definite, even with {} added to its diagonal", what,
            h.shape(), jitter_);
    jitter_ = jitter_ == 0 ? step : 10 * jitter_;
  }
}

Matrix Factor::times(const Matrix& b) const {
  require(b.rows() == size(), "Factor:times: a Matrix of {} rows expected, got {}", size(), b.shape());
  return blas::product(l_, blas::product(l_.t(), b));
}

Matrix Factor::solve(const Matrix& b) const {
  Timer timer("solve");
  require(b.rows() == size(), "solve: a right-hand side of {} rows expected, got {}", size(), b.shape());
  Matrix x = b.to(DType::f64);
  blas::triangular_solve(l_.view<double>(), true, false, x.view<double>());
  blas::triangular_solve(l_.view<double>(), true, true, x.view<double>());
  return x;
}

}  // namespace kbcd
