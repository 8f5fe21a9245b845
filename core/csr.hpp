// Csr: a local sparse matrix by rows: row i has values[starts[i] .. starts[i + 1]) in the columns at the same
// positions, which ascend within a row.
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.hpp"

namespace kbcd {

struct Csr {
  Int rows = 0, cols = 0;
  std::vector<Int> starts{0};         // rows + 1 of them
  std::vector<std::int32_t> columns;  // from 0
  Matrix values;                      // 1 x nnz, f32 or f64

  Int nnz() const { return static_cast<Int>(columns.size()); }
  DType dtype() const { return values.dtype(); }

  Csr take(const std::vector<Int>& rows) const;  // these rows, in this order
  void append(const Csr& below);                 // more rows of the same columns and type
  static Csr from_dense(const Matrix& dense);    // of what is not 0
  Csr to(DType dtype) const;
  Matrix dense() const;
};

double longest_row(const Csr& csr);  // the largest Euclidean length of a row

// The structure is sound: starts ascend from 0 to nnz, columns ascend within rows and are below cols.
void require_valid(const char* what, const Csr& csr);

}  // namespace kbcd
