#include "core/csr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"

namespace kbcd {

Csr Csr::take(const std::vector<Int>& wanted) const {
  Csr out;
  out.rows = static_cast<Int>(wanted.size());
  out.cols = cols;
  out.starts.reserve(wanted.size() + 1);
  for (Int row : wanted) out.starts.push_back(out.starts.back() + starts[row + 1] - starts[row]);
  out.columns.resize(out.starts.back());
  out.values = Matrix(1, out.starts.back(), dtype());
  dispatch(dtype(), [&]<class T>() {
    const T* from = values.view<T>().data;
    T* to = out.values.view<T>().data;
    for (Int i = 0; i < out.rows; ++i) {
      Int first = starts[wanted[i]], count = starts[wanted[i] + 1] - first;
      std::copy_n(columns.begin() + first, count, out.columns.begin() + out.starts[i]);
      std::copy_n(from + first, count, to + out.starts[i]);
    }
  });
  return out;
}

void Csr::append(const Csr& below) {
  require(below.cols == cols && below.dtype() == dtype(), "sparse rows of {} columns of {} expected, got {} of {}",
          cols, name(dtype()), below.cols, name(below.dtype()));
  Matrix all(1, nnz() + below.nnz(), dtype());
  all.col_block(0, nnz()).copy_from(values);
  all.col_block(nnz(), below.nnz()).copy_from(below.values);
  for (Int i = 1; i <= below.rows; ++i) starts.push_back(nnz() + below.starts[i]);
  columns.insert(columns.end(), below.columns.begin(), below.columns.end());
  values = all;
  rows += below.rows;
}

Csr Csr::from_dense(const Matrix& dense) {
  require(dense.cols() <= std::numeric_limits<std::int32_t>::max(), "sparse rows have at most 2^31 - 1 columns, got {}",
          dense.cols());
  Csr out;
  out.rows = dense.rows();
  out.cols = dense.cols();
  dispatch(dense.dtype(), [&]<class T>() {
    auto from = dense.view<T>();
    std::vector<T> kept;
    for (Int i = 0; i < out.rows; ++i) {
      for (Int j = 0; j < out.cols; ++j)
        if (from(i, j) != 0) out.columns.push_back(static_cast<std::int32_t>(j)), kept.push_back(from(i, j));
      out.starts.push_back(out.nnz());
    }
    out.values = Matrix(1, out.nnz(), dense.dtype());
    std::copy(kept.begin(), kept.end(), out.values.view<T>().data);
  });
  return out;
}

Csr Csr::to(DType dtype) const {
  Csr out = *this;
  out.values = values.to(dtype);
  return out;
}

Matrix Csr::dense() const {
  Matrix out = Matrix::zeros(rows, cols, dtype());
  dispatch(dtype(), [&]<class T>() {
    auto to = out.view<T>();
    const T* from = values.view<T>().data;
    for (Int i = 0; i < rows; ++i)
      for (Int e = starts[i]; e < starts[i + 1]; ++e) to(i, columns[e]) = from[e];
  });
  return out;
}

double longest_row(const Csr& csr) {
  std::vector<double> squares(csr.rows);
  dispatch(csr.dtype(), [&]<class T>() {
    const T* values = csr.values.view<T>().data;
    parallel_for(csr.rows, csr.nnz(), [&](Int i) {
      for (Int e = csr.starts[i]; e < csr.starts[i + 1]; ++e) squares[i] += double(values[e]) * double(values[e]);
    });
  });
  return squares.empty() ? 0 : std::sqrt(*std::max_element(squares.begin(), squares.end()));
}

void require_valid(const char* what, const Csr& csr) {
  require(static_cast<Int>(csr.starts.size()) == csr.rows + 1 && csr.starts.front() == 0 &&
              csr.starts.back() == csr.nnz() && csr.values.rows() == 1 && csr.values.cols() == csr.nnz(),
          "{}: the sparse rows do not add up: {} rows, {} starts, {} columns, {} values", what, csr.rows,
          csr.starts.size(), csr.nnz(), csr.values.cols());
  for (Int i = 0; i < csr.rows; ++i) {
    require(csr.starts[i] <= csr.starts[i + 1], "{}: row {} of the sparse rows ends before it starts", what, i + 1);
    for (Int e = csr.starts[i]; e < csr.starts[i + 1]; ++e)
      require(csr.columns[e] >= 0 && csr.columns[e] < csr.cols &&
                  (e == csr.starts[i] || csr.columns[e - 1] < csr.columns[e]),
              "{}: row {}: columns that ascend within 1..{} expected, got {}", what, i + 1, csr.cols,
              csr.columns[e] + 1);
  }
}

}  // namespace kbcd
