#include "modules/blocks/sparse_panels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kbcd {
namespace {

// ‖x − c‖² entry by entry, where the sum of squares has lost its digits.
template <class T>
T squared_distance(const Csr& a, Int i, const Csr& b, Int j) {
  const T *x = a.values.view<T>().data, *c = b.values.view<T>().data;
  Int e = a.starts[i], f = b.starts[j];
  T sum = 0;
  while (e < a.starts[i + 1] || f < b.starts[j + 1]) {
    bool left = f == b.starts[j + 1] || (e < a.starts[i + 1] && a.columns[e] <= b.columns[f]);
    bool right = e == a.starts[i + 1] || (f < b.starts[j + 1] && b.columns[f] <= a.columns[e]);
    T difference = (left ? x[e] : T(0)) - (right ? c[f] : T(0));
    sum += difference * difference;
    e += left;
    f += right;
  }
  return sum;
}

}  // namespace

SparseKernelPanels::SparseKernelPanels(DataSet x, std::optional<Index> rows, std::shared_ptr<Kernel> kernel,
                                       Csr centers)
    : PanelSource(std::move(x), std::move(rows)), kernel_(std::move(kernel)), centers_(centers.to(dtype())) {
  require(centers_.cols == data().d(), "KernelBlock: centres of {} columns expected as in X, got {}", data().d(),
          centers_.cols);
  Int nnz = centers_.nnz();
  std::vector<Int> order(nnz);
  std::vector<std::int32_t> owner(nnz);
  for (Int i = 0; i < centers_.rows; ++i)
    std::fill(owner.begin() + centers_.starts[i], owner.begin() + centers_.starts[i + 1], static_cast<std::int32_t>(i));
  std::iota(order.begin(), order.end(), Int{0});
  std::stable_sort(order.begin(), order.end(), [&](Int a, Int b) { return centers_.columns[a] < centers_.columns[b]; });
  who_.resize(nnz);
  values_ = Matrix(1, nnz, dtype());
  for (Int e = 0; e < nnz; ++e) {
    if (used_.empty() || used_.back() != centers_.columns[order[e]]) {
      used_.push_back(centers_.columns[order[e]]);
      starts_.push_back(e);
    }
    who_[e] = owner[order[e]];
    values_.set(0, e, centers_.values.get(0, order[e]));
  }
  starts_.push_back(nnz);
  own_.resize(centers_.rows);
  dispatch(dtype(), [&]<class T>() {
    for (Int i = 0; i < centers_.rows; ++i) own_[i] = own_part<T>(centers_, i);
  });
}

template <class T>
double SparseKernelPanels::own_part(const Csr& csr, Int row) const {
  const T* values = csr.values.view<T>().data;
  double sum = 0;
  for (Int e = csr.starts[row]; e < csr.starts[row + 1]; ++e)
    sum += kernel_->metric() == Metric::manhattan ? std::abs(double(values[e])) : double(values[e]) * double(values[e]);
  return sum;
}

// line[c] += Σ over the columns that the row and centre c share.
template <class T>
void SparseKernelPanels::add_shared_columns(Int row, T* line) const {
  auto& x = data().csr();
  const T *values = x.values.view<T>().data, *others = values_.view<T>().data;
  bool manhattan = kernel_->metric() == Metric::manhattan;
  auto at = used_.begin();
  for (Int e = x.starts[row]; e < x.starts[row + 1] && at != used_.end(); ++e) {
    at = std::lower_bound(at, used_.end(), x.columns[e]);
    if (at == used_.end() || *at != x.columns[e]) continue;
    Int u = at - used_.begin();
    T value = values[e];
    if (manhattan)
      for (Int f = starts_[u]; f < starts_[u + 1]; ++f)
        line[who_[f]] += std::abs(value - others[f]) - std::abs(value) - std::abs(others[f]);
    else
      for (Int f = starts_[u]; f < starts_[u + 1]; ++f) line[who_[f]] += value * others[f];
  }
}

template <class T>
void SparseKernelPanels::panel(Rows rows, View<T> out) const {
  Metric metric = kernel_->metric();
  for (Int i = 0; i < out.rows; ++i) {
    T* line = out.line(i);
    std::fill_n(line, out.cols, T(0));
    add_shared_columns(rows[i], line);
    if (metric != Metric::dot) {
      double own = own_part<T>(data().csr(), rows[i]);
      for (Int j = 0; j < out.cols; ++j) {
        double both = own + own_[j];
        if (metric == Metric::cosine) {
          double length = std::sqrt(own * own_[j]);
          line[j] = length > 0 ? static_cast<T>(line[j] / length) : T(0);
        } else if (metric == Metric::manhattan) {
          line[j] = static_cast<T>(std::max(0.0, both + line[j]));
        } else {
          line[j] = static_cast<T>(std::max(0.0, both - 2.0 * line[j]));
          if (line[j] < lost_digits * both) line[j] = squared_distance<T>(data().csr(), rows[i], centers_, j);
        }
      }
    }
    if (!kernel_->main_thread_only()) kernel_->kappa(out.rows_from(i, 1));  // while the line is in cache
  }
  if (kernel_->main_thread_only()) kernel_->kappa(out);
}

}  // namespace kbcd
