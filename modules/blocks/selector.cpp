#include "modules/blocks/selector.hpp"

#include <algorithm>
#include <functional>

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
  Matrix from = d.contiguous(d.dtype());
  dispatch(d.dtype(), [&]<class T>() {
    auto rows = from.view<T>(), to = out.view<T>();
    for (Int j : layout_.owned_positions(columns_, comm::rank()))
      std::transform(rows.line(j), rows.line(j) + d.cols(), to.line(columns_[j] - first), to.line(columns_[j] - first),
                     std::plus<T>());
  });
  return out;
}

Matrix Selector::t_times(const Matrix& a) const {
  Timer timer("Selector");
  Int first = layout_.first(comm::rank()), count = layout_.count(comm::rank());
  require(a.rows() == count, "Selector:t() * A: A must have this rank's {} of the {} rows, got {}", count, n(),
          a.shape());
  Matrix out = Matrix::zeros(columns_.size(), a.cols(), a.dtype());
  Matrix from = a.contiguous(a.dtype());
  dispatch(a.dtype(), [&]<class T>() {
    auto rows = from.view<T>(), to = out.view<T>();
    for (Int j : layout_.owned_positions(columns_, comm::rank()))
      std::copy_n(rows.line(columns_[j] - first), a.cols(), to.line(j));
  });
  return out;
}

}  // namespace kbcd
