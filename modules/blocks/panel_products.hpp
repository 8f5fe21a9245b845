// The two products of a block B with few columns, panel by panel of B's rows, on whichever thread has the panel.
#pragma once

#include <vector>

#include "core/elementwise.hpp"
#include "core/tiles.hpp"

namespace kbcd {

// B' a, summed over the panels: in B's type within a panel, in f64 across panels.
template <class T>
class TransposedSum {
 public:
  TransposedSum(Int cols, const Matrix& a)
      : cols_(cols), a_(a.t().contiguous(dtype_of<T>)), sums_(thread_count()), parts_(thread_count()) {}

  void add(int thread, Int first, View<T> panel) {
    // Few columns are bound by memory: so few rows at once that they are read in streams.
    constexpr Int rows_at_once = 32, few_columns = 16;
    auto &sum = sums_[thread], &part = parts_[thread];
    if (sum.size() == 0) {
      sum = Matrix::zeros(a_.rows(), cols_);
      part = Matrix(a_.rows(), cols_, dtype_of<T>);
    }
    View<T> left = a_.view<T>().cols_from(first, panel.rows), p = part.view<T>();
    thread_local tiles::Rows<T> packed;
    Int step = left.rows <= few_columns ? rows_at_once : panel.rows;
    for (Int i = 0; i < panel.rows; i += step) {
      Int count = std::min(step, panel.rows - i);
      packed.pack(left.cols_from(i, count));
      tiles::multiply(packed, panel.rows_from(i, count), i > 0, p);
    }
    for (Int i = 0; i < p.rows; ++i)
      for (Int j = 0; j < p.cols; ++j) sum.view<double>().line(i)[j] += static_cast<double>(p.line(i)[j]);
  }

  Matrix total() const {
    Matrix total = Matrix::zeros(cols_, a_.rows());
    for (auto& sum : sums_)
      if (sum.size()) kbcd::add(total, 1, sum.t());
    return total;
  }

 private:
  Int cols_;
  Matrix a_;                          // a', so that a panel's rows are one after the other in it
  std::vector<Matrix> sums_, parts_;  // of each thread
};

// B d: the rows of each panel.
template <class T>
class RowProducts {
 public:
  RowProducts(Int rows, const Matrix& d)
      : out_(rows, d.cols(), DType::f64), right_(d.contiguous(dtype_of<T>).template view<T>()) {}

  void add(Int first, View<T> panel) {
    thread_local tiles::Scratch<T> scratch;
    Int cols = out_.cols();
    View<T> part{scratch.at_least(panel.rows * cols), panel.rows, cols, cols};
    tiles::multiply(panel, right_, part);
    for (Int i = 0; i < panel.rows; ++i) std::copy_n(part.line(i), cols, out_.view<double>().line(first + i));
  }

  Matrix total() const { return out_; }

 private:
  Matrix out_;
  tiles::Columns<T> right_;
};

}  // namespace kbcd
