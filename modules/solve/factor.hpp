// H = L L', kept so that many right-hand sides can be solved with it.
//
// Of H = A + r I with A in f32, L is in f32, too, which takes half the time and memory, and a solution is refined,
//
//   x ← x + (L L')⁻¹ (b − A x − r x)     with the residual in f64,
//
// until it is that of H in f64; where f32 is too coarse for this to converge fast, L is in f64.
#pragma once

#include <optional>
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
  // Of a + ridge I. An a in f32 stays with the factor, without a copy.
  static Factor with_ridge(const Matrix& a, double ridge, bool may_jitter, const std::string& what);

  Int size() const { return l_.rows(); }
  double jitter() const { return jitter_; }
  const Matrix& lower() const { return l_; }
  Matrix times(const Matrix& b) const;  // H b
  Matrix solve(const Matrix& b) const;  // H^-1 b, f64
  void release() { l_.release(); }

 private:
  struct Refined {
    Matrix a;
    double ridge;
  };
  Factor() = default;
  Matrix residual(const Matrix& b, const Matrix& x) const;
  Matrix coarse(const Matrix& b) const;

  Matrix l_;
  double jitter_ = 0;
  std::optional<Refined> refined_;  // L is in f32
};

// The factors of several matrices, at the same time on as many threads; `names` begin the messages. With `ridges`, a
// number for each matrix, those of a + r I.
std::vector<Factor> factor_all(const std::vector<Matrix>& matrices, bool may_jitter,
                               const std::vector<std::string>& names, bool overwrite = false,
                               const std::vector<double>& ridges = {});

}  // namespace kbcd
