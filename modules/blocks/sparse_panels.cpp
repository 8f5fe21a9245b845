#include "modules/blocks/sparse_panels.hpp"

#include <algorithm>
#include <cmath>

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
  struct Entry {
    std::int32_t column, center;
    Int at;
  };
  std::vector<Entry> entries(nnz);
  for (Int i = 0; i < centers_.rows; ++i)
    for (Int e = centers_.starts[i]; e < centers_.starts[i + 1]; ++e)
      entries[e] = {centers_.columns[e], static_cast<std::int32_t>(i), e};
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.column != b.column ? a.column < b.column : a.center < b.center;
  });
  who_.resize(nnz);
  values_ = Matrix(1, nnz, dtype());
  std::vector<std::int32_t> used;
  for (Int e = 0; e < nnz; ++e) {
    if (used.empty() || used.back() != entries[e].column) {
      used.push_back(entries[e].column);
      starts_.push_back(e);
    }
    who_[e] = entries[e].center;
  }
  starts_.push_back(nnz);
  used_ = ColumnPlaces(std::move(used));
  dispatch(dtype(), [&]<class T>() {
    const T* from = centers_.values.view<T>().data;
    T* to = values_.view<T>().data;
    for (Int e = 0; e < nnz; ++e) to[e] = from[entries[e].at];
  });
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
  for (Int e = x.starts[row]; e < x.starts[row + 1]; ++e) {
    Int u = used_.find(x.columns[e]);
    if (u < 0) continue;
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

bool SparseKernelPanels::factors(Int k) const {
  auto& x = data().csr();
  double entries =
      static_cast<double>(x.nnz()) * static_cast<double>(rows()) / static_cast<double>(std::max<Int>(1, x.rows));
  return kernel_->is_linear() && (entries + static_cast<double>(centers_.nnz())) * static_cast<double>(k) <
                                     static_cast<double>(rows()) * static_cast<double>(cols());
}

// X (Cᵀd): first the sums over the centres that have a column, for every column that is used.
Matrix SparseKernelPanels::unscaled_times(const Matrix& d) const {
  Matrix out = Matrix::zeros(rows(), d.cols()), right = d.contiguous(DType::f64);
  Matrix sums = Matrix::zeros(used_.size(), d.cols());
  auto to = out.view<double>(), from = right.view<double>(), w = sums.view<double>();
  auto& x = data().csr();
  Int k = d.cols();
  auto add = [k](double* to, double factor, const double* from) {
    for (Int c = 0; c < k; ++c) to[c] += factor * from[c];
  };
  dispatch(dtype(), [&]<class T>() {
    const T *values = x.values.view<T>().data, *others = values_.view<T>().data;
    parallel_for(w.rows, centers_.nnz() * k, [&](Int u) {
      for (Int f = starts_[u]; f < starts_[u + 1]; ++f) add(w.line(u), others[f], from.line(who_[f]));
    });
    parallel_for(to.rows, x.nnz() * k, [&](Int i) {
      Int row = local_row(i);
      for (Int e = x.starts[row]; e < x.starts[row + 1]; ++e)
        if (Int u = used_.find(x.columns[e]); u >= 0) add(to.line(i), values[e], w.line(u));
    });
  });
  return out;
}

// C (Xᵀa): each thread sums over its share of the rows.
Matrix SparseKernelPanels::unscaled_t_times(const Matrix& a) const {
  Int k = a.cols(), used = used_.size(), parts = std::min<Int>(thread_count(), std::max<Int>(1, rows()));
  Matrix out = Matrix::zeros(cols(), k), right = a.contiguous(DType::f64);
  std::vector<Matrix> sums(parts);
  auto from = right.view<double>(), to = out.view<double>();
  auto& x = data().csr();
  Layout shares{rows(), static_cast<int>(parts)};
  dispatch(dtype(), [&]<class T>() {
    const T *values = x.values.view<T>().data, *own = centers_.values.view<T>().data;
    parallel_for(parts, x.nnz() * k, [&](Int part) {
      sums[part] = Matrix::zeros(used, k);
      auto w = sums[part].view<double>();
      Int first = shares.first(static_cast<int>(part)), count = shares.count(static_cast<int>(part));
      for (Int i = first; i < first + count; ++i)
        for (Int row = local_row(i), e = x.starts[row]; e < x.starts[row + 1]; ++e)
          if (Int u = used_.find(x.columns[e]); u >= 0)
            for (Int c = 0; c < k; ++c) w.line(u)[c] += values[e] * from.line(i)[c];
    });
    parallel_for(to.rows, centers_.nnz() * k * parts, [&](Int i) {
      for (Int e = centers_.starts[i]; e < centers_.starts[i + 1]; ++e) {
        Int u = used_.find(centers_.columns[e]);
        for (auto& sum : sums)
          for (Int c = 0; c < k; ++c) to.line(i)[c] += own[e] * sum.view<double>().line(u)[c];
      }
    });
  });
  return out;
}

}  // namespace kbcd
