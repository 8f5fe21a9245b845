#include "modules/blocks/selector.hpp"

#include "core/elementwise.hpp"
#include "core/timers.hpp"

namespace kbcd {

Selector::Selector(Int n, Index columns) : layout_(comm::layout(n)), columns_(std::move(columns)) {
  require(n >= 1, "Selector: n >= 1 expected, got {}", n);
  columns_.require_within("Selector", n);
}

Matrix Selector::times(const Matrix& d) const {
  Timer timer("Selector");
  require(d.rows() == columns_.size(), "Selector * D: D must have {} rows, got {}", columns_.size(), d.shape());
  Int first = layout_.first(comm::rank());
  Matrix out = Matrix::zeros(layout_.count(comm::rank()), d.cols(), d.dtype());
  for (Int j : layout_.owned_positions(columns_, comm::rank()))
    add(out.row_block(columns_[j] - first, 1), 1, d.row_block(j, 1));
  return out;
}

Matrix Selector::t_times(const Matrix& a) const {
  Timer timer("Selector");
  Int first = layout_.first(comm::rank()), count = layout_.count(comm::rank());
  require(a.rows() == count, "Selector:t() * A: A must have this rank's {} of the {} rows, got {}", count, n(),
          a.shape());
  Matrix out = Matrix::zeros(columns_.size(), a.cols(), a.dtype());
  for (Int j : layout_.owned_positions(columns_, comm::rank()))
    out.row_block(j, 1).copy_from(a.row_block(columns_[j] - first, 1));
  return out;
}

}  // namespace kbcd
