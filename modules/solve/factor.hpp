// H = L L' in f64, kept so that many right-hand sides can be solved with it.
#pragma once

#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace kbcd {

class Factor {
 public:
  // `may_jitter`: a matrix that is not positive definite gets j I added, with j from 1e-2 eps tr(H) upwards
  // in steps of ten, until it is; jitter() returns j. Otherwise it is an error. `what` begins the message.
  // `overwrite`: h is destroyed, L may use its memory.
  Factor(Matrix h, bool may_jitter, const std::string& what, bool overwrite = false);

  Int size() const { return l_.rows(); }
  double jitter() const { return jitter_; }
  const Matrix& lower() const { return l_; }
  Matrix times(const Matrix& b) const;  // H b
  Matrix solve(const Matrix& b) const;  // H^-1 b, f64

 private:
  Matrix l_;
  double jitter_ = 0;
};

// The factors of several matrices, at the same time on as many threads; `names` begin the messages.
std::vector<Factor> factor_all(const std::vector<Matrix>& matrices, bool may_jitter,
                               const std::vector<std::string>& names, bool overwrite = false);

}  // namespace kbcd
