// The sums that a product with a KernelTriangle collects from its pieces; for kernel_triangle.cpp.
#pragma once

#include <algorithm>
#include <utility>

#include "core/elementwise.hpp"
#include "modules/blocks/kernel_triangle.hpp"

namespace kbcd {

// The products of pieces with v, and their sums: out' of each thread, k x the wanted rows, in f64. Within a piece the
// sums are in the type of K.
template <class T>
class KernelTriangle::Products {
 public:
  // all: v of every rank, n x k. wanted: the tiles whose rows of K v are computed, in the order of the result.
  Products(const KernelTriangle& k, const Matrix& all, const std::vector<Int>& wanted)
      : k_(k), cols_(all.cols()), first_(k.tiles(), -1), given_(k.tiles()), own_(cols_, k.own_.size(), dtype_of<T>) {
    for (Int t : wanted) first_[t] = std::exchange(rows_, rows_ + k.tiles_[t].count);
    Matrix ordered(k.cols(), cols_, dtype_of<T>);
    auto from = all.view<double>();
    auto to = ordered.view<T>(), own = own_.view<T>();
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
        for (Int j = 0; j < cols_; ++j) own(j, i) = to(k.own_places_[i], j);
      if (!zero) right_[t] = tiles::Columns<T>(to.rows_from(tile.first, tile.count));
    });
    sums_.resize(thread_count());
  }

  // Which products of the piece K(s, u) are wanted and not 0. One of the two is all of a piece on the diagonal.
  Piece piece(Int s, Int u) const { return {s, u, s != u && first_[s] >= 0 && given_[u], first_[u] >= 0 && given_[s]}; }

  // Rows from `first` of this rank's rows of tile s.
  void add(int thread, const Piece& piece, Int first, View<T> values) {
    constexpr Int rows_at_once = 32, few_columns = 16;  // few columns are bound by memory: read in streams
    auto& sums = sums_[thread];
    if (sums.size() == 0) sums = Matrix::zeros(cols_, rows_);
    auto out = sums.template view<double>();
    const auto &s = k_.tiles_[piece.s], &u = k_.tiles_[piece.u];
    Int own = s.own_first + first;
    thread_local tiles::Scratch<T> scratch;
    if (piece.transposed) {
      View<T> part{scratch.at_least(cols_ * u.count), cols_, u.count, u.count}, left = own_.template view<T>();
      thread_local tiles::Rows<T> packed;
      Int step = cols_ <= few_columns ? rows_at_once : values.rows;
      for (Int i = 0; i < values.rows; i += step) {
        Int count = std::min(step, values.rows - i);
        packed.pack(left.cols_from(own + i, count));
        tiles::multiply(packed, values.rows_from(i, count), i > 0, part);
      }
      for (Int j = 0; j < cols_; ++j) {
        double* line = out.line(j) + first_[piece.u];
        for (Int i = 0; i < u.count; ++i) line[i] += static_cast<double>(part.line(j)[i]);
      }
    }
    if (piece.direct) {
      View<T> part{scratch.at_least(values.rows * cols_), values.rows, cols_, cols_};
      tiles::multiply(values, right_[piece.u], part);
      for (Int i = 0; i < values.rows; ++i) {
        double* to = out.data + first_[piece.s] + k_.own_places_[own + i] - s.first;
        for (Int j = 0; j < cols_; ++j) to[j * out.ld] += static_cast<double>(part.line(i)[j]);
      }
    }
  }

  Matrix total() const {
    Matrix total = Matrix::zeros(rows_, cols_);
    for (auto& sum : sums_)
      if (sum.size()) kbcd::add(total, 1, sum.t());
    return total;
  }

 private:
  const KernelTriangle& k_;
  Int cols_, rows_ = 0;
  std::vector<Int> first_;                // by tile: its first row in the result; −1: not wanted
  std::vector<char> given_;               // by tile: v is not 0 there
  std::vector<tiles::Columns<T>> right_;  // by tile: v
  Matrix own_;                            // v' of this rank's rows
  std::vector<Matrix> sums_;              // by thread
};

}  // namespace kbcd
