// Selector S = Selector(n, I): the n x |I| matrix with S(I(j), j) = 1 and 0 elsewhere; never stored.
#pragma once

#include "core/comm.hpp"

namespace kbcd {

class Selector {
 public:
  Selector(Int n, Index columns);
  Int n() const { return layout_.n; }
  const Index& columns() const { return columns_; }

  Matrix times(const Matrix& d) const;    // S d: this rank's rows, zero but for those in I
  Matrix t_times(const Matrix& a) const;  // S' a: this rank's part of rows I of a; the sum over the ranks has them all

 private:
  Layout layout_;
  Index columns_;
};

}  // namespace kbcd
