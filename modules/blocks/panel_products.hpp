// The two products of a block B with k columns, panel by panel of B's rows, on whichever thread has the panel.
//
// Products with few columns are bound by the speed of memory, and have loops of their own (core/few_columns.hpp), which
// also read numbers that are kept in f16. With more columns these are converted, a panel at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/elementwise.hpp"
#include "core/few_columns.hpp"
#include "core/half.hpp"
#include "core/tiles.hpp"

namespace kbcd {

constexpr Int most_few_columns = 64;

// A panel in f16 as numbers, in memory of this thread.
inline View<float> converted(View<std::uint16_t> panel) {
  thread_local tiles::Scratch<float> scratch;
  Int step = tiles::row_stride<float>(panel.cols);
  View<float> to{scratch.at_least(panel.rows * step), panel.rows, panel.cols, step};
  for (Int i = 0; i < panel.rows; ++i) half::unpack(panel.line(i), to.line(i), panel.cols);
  return to;
}
template <class T>
View<T> converted(View<T> panel) {
  return panel;
}

// a' as lines of whole vectors, filled with zeros.
template <class T>
Matrix in_lines(const Matrix& a) {
  Matrix lines = Matrix::zeros(a.cols(), tiles::whole_lines<T>(a.rows()) + tiles::few_columns<T>, dtype_of<T>);
  lines.col_block(0, a.rows()).copy_from(a.t());
  return lines;
}

// B' a, summed over the panels: in B's type within a panel, in f64 across panels.
template <class T>
class TransposedSum {
 public:
  TransposedSum(Int cols, const Matrix& a)
      : cols_(cols),
        few_(a.cols() <= most_few_columns),
        a_(few_ ? in_lines<T>(a.t()) : a.t().contiguous(dtype_of<T>)),
        sums_(thread_count()),
        parts_(thread_count()),
        columns_(a.cols()) {}

  template <class S>
  void add(int thread, Int first, View<S> panel) {
    auto &sum = sums_[thread], &part = parts_[thread];
    if (sum.size() == 0) {
      sum = Matrix::zeros(columns_, cols_);
      part = Matrix(columns_, tiles::whole_lines<T>(cols_) + tiles::few_columns<T>, dtype_of<T>);
    }
    auto a = a_.view<T>(), p = part.view<T>().cols_from(0, cols_);
    if (few_) {
      tiles::few_products<T>(panel, columns_, {}, {a.line(first), a.ld}, {}, {p.data, p.ld}, false);
    } else {
      thread_local tiles::Rows<T> packed;
      packed.pack(a.cols_from(first, panel.rows));
      tiles::multiply(packed, converted(panel), false, p);
    }
    auto to = sum.view<double>();
    for (Int i = 0; i < p.rows; ++i)
      for (Int j = 0; j < p.cols; ++j) to.line(i)[j] += static_cast<double>(p.line(i)[j]);
  }

  Matrix total() const {
    Matrix total = Matrix::zeros(cols_, columns_);
    for (auto& sum : sums_)
      if (sum.size()) kbcd::add(total, 1, sum.t());
    return total;
  }

 private:
  Int cols_;
  bool few_;
  Matrix a_;                          // few columns: in lines; else a', so that a panel's rows follow each other in it
  std::vector<Matrix> sums_, parts_;  // of each thread
  Int columns_;
};

// B d: the rows of each panel.
template <class T>
class RowProducts {
 public:
  RowProducts(Int rows, const Matrix& d) : out_(rows, d.cols(), DType::f64), few_(d.cols() <= most_few_columns) {
    if (few_)
      lines_ = in_lines<T>(d);
    else
      right_ = tiles::Columns<T>(d.contiguous(dtype_of<T>).template view<T>());
  }

  template <class S>
  void add(Int first, View<S> panel) {
    thread_local tiles::Scratch<T> scratch;
    Int cols = out_.cols();
    T* part = scratch.at_least(panel.rows * cols);
    auto to = out_.view<double>();
    if (few_) {
      auto v = lines_.view<T>();
      tiles::few_products<T>(panel, cols, {v.data, v.ld}, {}, {part, panel.rows}, {}, false);
      for (Int i = 0; i < panel.rows; ++i)
        for (Int j = 0; j < cols; ++j) to.line(first + i)[j] = static_cast<double>(part[j * panel.rows + i]);
    } else {
      tiles::multiply(converted(panel), right_, View<T>{part, panel.rows, cols, cols});
      for (Int i = 0; i < panel.rows; ++i) std::copy_n(part + i * cols, cols, to.line(first + i));
    }
  }

  Matrix total() const { return out_; }

 private:
  Matrix out_;
  bool few_;
  Matrix lines_;  // few columns: d' in lines
  tiles::Columns<T> right_;
};

}  // namespace kbcd
