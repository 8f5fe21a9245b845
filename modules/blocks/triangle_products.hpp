// The sums that a product with a KernelTriangle collects from its pieces; for kernel_triangle.cpp.
#pragma once

#include <algorithm>
#include <utility>

#include "core/elementwise.hpp"
#include "modules/blocks/kernel_triangle.hpp"
#include "modules/blocks/panel_products.hpp"

namespace kbcd {

// The products of pieces with v, and their sums: out' of each thread, k x the wanted rows, in f64. Within a piece the
// sums are in the type of K. Few columns have products of their own (core/few_columns.hpp).
template <class T>
class KernelTriangle::Products {
 public:
  // all: v of every rank, n x k. wanted: the tiles whose rows of K v are computed, in the order of the result.
  Products(const KernelTriangle& k, const Matrix& all, const std::vector<Int>& wanted)
      : k_(k), cols_(all.cols()), few_(cols_ <= most_few_columns), first_(k.tiles(), -1), given_(k.tiles()) {
    for (Int t : wanted) first_[t] = std::exchange(rows_, rows_ + k.tiles_[t].count);
    ordered_ = few_ ? Matrix::zeros(cols_, tiles::whole_lines<T>(k.cols()) + width, dtype_of<T>).t()
                    : Matrix(k.cols(), cols_, dtype_of<T>);
    own_ = few_ ? Matrix::zeros(k.own_.size(), tiles::whole_lines<T>(cols_), dtype_of<T>)
                : Matrix(cols_, k.own_.size(), dtype_of<T>).t();
    auto from = all.view<double>();
    auto to = ordered_.view<T>(), own = own_.view<T>();
    right_.resize(k.tiles());
    parallel_for(k.tiles(), all.size(), [&](Int t) {
      auto& tile = k.tiles_[t];
      bool zero = true;
      for (Int i = tile.first; i < tile.first + tile.count; ++i)
        for (Int j = 0; j < cols_; ++j) {
          double value = from(k.order_[i], j);
          zero = zero && value == 0;
          to(i, j) = static_cast<T>(value);
        }
      given_[t] = !zero;
      for (Int i = tile.own_first; i < tile.own_first + tile.own_count; ++i)
        for (Int j = 0; j < cols_; ++j) own(i, j) = to(k.own_places_[i], j);
      if (!zero && !few_) right_[t] = tiles::Columns<T>(to.rows_from(tile.first, tile.count));
    });
    sums_.resize(thread_count());
  }

  // Which products of the piece K(s, u) are wanted and not 0. One of the two is all of a piece on the diagonal.
  Piece piece(Int s, Int u) const { return {s, u, s != u && first_[s] >= 0 && given_[u], first_[u] >= 0 && given_[s]}; }

  // Rows from `first` of this rank's rows of tile s. in_order: the rows that follow in memory are used next.
  template <class S>
  void add(int thread, const Piece& piece, Int first, View<S> values, bool in_order) {
    if (sums_[thread].size() == 0) sums_[thread] = Matrix::zeros(cols_, rows_);
    Int own = k_.tiles_[piece.s].own_first + first;
    if (few_)
      add_few(thread, piece, own, values, in_order);
    else
      add_many(thread, piece, own, converted(values));
  }

  Matrix total() const {
    Matrix total = Matrix::zeros(rows_, cols_);
    for (auto& sum : sums_)
      if (sum.size()) kbcd::add(total, 1, sum.t());
    return total;
  }

 private:
  static constexpr Int width = tiles::few_columns<T>;

  void add_transposed(int thread, Int u, tiles::Lines<T> part) {
    auto out = sums_[thread].template view<double>();
    for (Int j = 0; j < cols_; ++j) {
      double* line = out.line(j) + first_[u];
      for (Int i = 0; i < k_.tiles_[u].count; ++i) line[i] += static_cast<double>(part.data[j * part.step + i]);
    }
  }

  // part(j, i) is at j · column_step + i · row_step.
  void add_direct(int thread, Int s, Int own, Int rows, const T* part, Int column_step, Int row_step) {
    auto out = sums_[thread].template view<double>();
    for (Int j = 0; j < cols_; ++j) {
      double* line = out.line(j) + first_[s] - k_.tiles_[s].first;
      for (Int i = 0; i < rows; ++i)
        line[k_.own_places_[own + i]] += static_cast<double>(part[j * column_step + i * row_step]);
    }
  }

  template <class S>
  void add_few(int thread, const Piece& piece, Int own, View<S> values, bool in_order) {
    thread_local tiles::Scratch<T> direct_part, transposed_part;
    Int step = tiles::whole_lines<T>(values.cols);
    tiles::Lines<T> d{piece.direct ? direct_part.at_least(cols_ * values.rows) : nullptr, values.rows};
    tiles::Lines<T> t{piece.transposed ? transposed_part.at_least(cols_ * step) : nullptr, step};
    auto v = ordered_.view<T>(), w = own_.view<T>();
    tiles::few_products<T>(values, cols_, {v.data + k_.tiles_[piece.u].first, v.ld}, {w.line(own), w.ld}, d, t,
                           in_order);
    if (t.data) add_transposed(thread, piece.u, t);
    if (d.data) add_direct(thread, piece.s, own, values.rows, d.data, d.step, 1);
  }

  void add_many(int thread, const Piece& piece, Int own, View<T> values) {
    Int count = k_.tiles_[piece.u].count;
    thread_local tiles::Scratch<T> scratch;
    if (piece.transposed) {
      View<T> part{scratch.at_least(cols_ * count), cols_, count, count}, left = own_.template view<T>().t();
      thread_local tiles::Rows<T> packed;
      packed.pack(left.cols_from(own, values.rows));
      tiles::multiply(packed, values, false, part);
      add_transposed(thread, piece.u, {part.data, count});
    }
    if (piece.direct) {
      View<T> part{scratch.at_least(values.rows * cols_), values.rows, cols_, cols_};
      tiles::multiply(values, right_[piece.u], part);
      add_direct(thread, piece.s, own, values.rows, part.data, 1, cols_);
    }
  }

  const KernelTriangle& k_;
  Int cols_, rows_ = 0;
  bool few_;
  std::vector<Int> first_;                // by tile: its first row in the result; −1: not wanted
  std::vector<char> given_;               // by tile: v is not 0 there
  Matrix ordered_;                        // v in the order; with few columns, in lines of a column each
  Matrix own_;                            // of this rank's rows; with few columns, in whole lines
  std::vector<tiles::Columns<T>> right_;  // by tile: v, with many columns
  std::vector<Matrix> sums_;              // by thread
};

}  // namespace kbcd
