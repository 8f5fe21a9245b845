// SparseSign: the sparse sign sketch Φ, s x n, of which each column has m entries ±1/√m in distinct random rows, so
// that E ΦᵀΦ = I.
//
// Column i is a pure function of (seed, stream, i): ranks apply their own columns to their own rows of a matrix.
#pragma once

#include "core/comm.hpp"

namespace kbcd {

class SparseSign {
 public:
  SparseSign(Int rows, Int n, Int nonzeros, std::uint64_t seed, std::uint32_t stream);
  Int rows() const { return rows_; }
  Int n() const { return layout_.n; }
  Int nonzeros() const { return nonzeros_; }

  Matrix times(const Matrix& a) const;  // Φ a for this rank's rows of a: its part of the sum over the ranks, f64

 private:
  Int rows_;
  Layout layout_;
  Int nonzeros_;
  // Of this rank's columns, one after the other: the row of each entry, and ~row where the entry is negative.
  std::vector<std::int32_t> entries_;
};

}  // namespace kbcd
