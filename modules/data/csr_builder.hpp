// Builds sparse rows from entries that come in any order within a row: those of one column are summed, zeros dropped.
#pragma once

#include <vector>

#include "core/csr.hpp"

namespace kbcd {

class CsrBuilder {
 public:
  explicit CsrBuilder(Int cols);
  Int cols() const { return csr_.cols; }
  bool has(double column) const;          // a whole number in 1..cols
  void add(double column, double value);  // requires has(column)
  void end_row();
  // The rows so far, without the entries after the last end_row(); unit_norm: each gets the length 1.
  Csr finish(DType dtype, bool unit_norm) const;

 private:
  Csr csr_;
  std::vector<double> values_;
  std::vector<std::uint64_t> row_;  // of the current one: column << 32 | number of the entry
  std::vector<double> entries_;
};

}  // namespace kbcd
