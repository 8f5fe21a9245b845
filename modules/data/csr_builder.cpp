#include "modules/data/csr_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace kbcd {

CsrBuilder::CsrBuilder(Int cols) {
  require(cols >= 1 && cols <= std::numeric_limits<std::int32_t>::max(),
          "sparse rows: 1..2^31 - 1 columns expected, got {}", cols);
  csr_.cols = cols;
}

bool CsrBuilder::has(double column) const {
  return column >= 1 && column <= static_cast<double>(csr_.cols) && column == std::floor(column);
}

void CsrBuilder::add(double column, double value) {
  require(has(column), "sparse rows: row {}: columns within 1..{} expected, got {}", csr_.rows + 1, csr_.cols, column);
  require(entries_.size() < std::numeric_limits<std::uint32_t>::max(), "sparse rows: row {} has too many entries",
          csr_.rows + 1);
  row_.push_back(static_cast<std::uint64_t>(column - 1) << 32 | entries_.size());
  entries_.push_back(value);
}

void CsrBuilder::end_row() {
  std::sort(row_.begin(), row_.end());
  for (std::size_t k = 0; k < row_.size();) {
    std::uint64_t column = row_[k] >> 32;
    double sum = 0;
    for (; k < row_.size() && row_[k] >> 32 == column; ++k) sum += entries_[row_[k] & 0xFFFFFFFF];
    if (sum == 0) continue;
    csr_.columns.push_back(static_cast<std::int32_t>(column));
    values_.push_back(sum);
  }
  row_.clear();
  entries_.clear();
  csr_.starts.push_back(csr_.nnz());
  ++csr_.rows;
}

Csr CsrBuilder::finish(DType dtype, bool unit_norm) const {
  Csr csr = csr_;
  csr.values = Matrix(1, csr.nnz(), DType::f64);
  double* to = csr.values.view<double>().data;
  std::copy(values_.begin(), values_.end(), to);
  for (Int i = 0; unit_norm && i < csr.rows; ++i) {
    Int begin = csr.starts[i], end = csr.starts[i + 1];
    double largest = 0, squares = 0;  // of entries whose largest is 1, since squares of any may overflow or vanish
    for (Int e = begin; e < end; ++e) largest = std::max(largest, std::abs(to[e]));
    for (Int e = begin; e < end; ++e) to[e] /= largest, squares += to[e] * to[e];
    for (Int e = begin; e < end; ++e) to[e] /= std::sqrt(squares);
  }
  return csr.to(dtype);
}

}  // namespace kbcd
