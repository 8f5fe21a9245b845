#include "modules/blocks/sparse_panels.hpp"

#include <algorithm>
#include <cmath>

namespace kbcd {
namespace {

// A distance below so much of what both rows have has too few digits left; the sums are f64 in either case.
template <class T>
constexpr double lost_digits = std::is_same_v<T, float> ? 1e-6 : 1e-3;

// ‖x − c‖² or ‖x − c‖₁ entry by entry.
template <class T>
double distance(Metric metric, const Csr& a, Int i, const Csr& b, Int j) {
  const T *x = a.values.view<T>().data, *c = b.values.view<T>().data;
  Int e = a.starts[i], f = b.starts[j];
  double sum = 0;
  while (e < a.starts[i + 1] || f < b.starts[j + 1]) {
    bool left = f == b.starts[j + 1] || (e < a.starts[i + 1] && a.columns[e] <= b.columns[f]);
    bool right = e == a.starts[i + 1] || (f < b.starts[j + 1] && b.columns[f] <= a.columns[e]);
    double difference = (left ? double(x[e]) : 0.0) - (right ? double(c[f]) : 0.0);
    sum += metric == Metric::manhattan ? std::abs(difference) : difference * difference;
    e += left;
    f += right;
  }
  return sum;
}

// What divides a row to make its length 1, in two steps, so that squares neither vanish nor overflow.
struct Length {
  double largest = 1, rest = 1;

  template <class T>
  Length(const T* values, Int count) {
    double most = 0, squares = 0;
    for (Int e = 0; e < count; ++e) most = std::max(most, std::abs(double(values[e])));
    if (most > 0) largest = most;
    for (Int e = 0; e < count; ++e) squares += values[e] / largest * (values[e] / largest);
    if (most > 0) rest = std::sqrt(squares);
  }
  double divide(double value) const { return value / largest / rest; }
};

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
    if (kernel_->metric() == Metric::cosine) {
      std::vector<Length> lengths;
      for (Int i = 0; i < centers_.rows; ++i)
        lengths.emplace_back(from + centers_.starts[i], centers_.starts[i + 1] - centers_.starts[i]);
      for (Int e = 0; e < nnz; ++e) to[e] = static_cast<T>(lengths[who_[e]].divide(to[e]));
    } else if (kernel_->metric() != Metric::dot) {
      own_.resize(centers_.rows);
      for (Int i = 0; i < centers_.rows; ++i) own_[i] = own_part<T>(centers_, i);
    }
  });
}

template <class T>
double SparseKernelPanels::own_part(const Csr& csr, Int row) const {
  const T* values = csr.values.view<T>().data;
  double sum = 0;
  for (Int e = csr.starts[row]; e < csr.starts[row + 1]; ++e)
    sum += kernel_->metric() == Metric::manhattan ? std::abs(double(values[e])) : double(values[e]) * double(values[e]);
  return require_length(sum, dtype());
}

// sums[c]: over the columns that the row and centre c share. What |x| and |c| share of a column is the smaller of the
// two where the signs are the same.
template <class T>
void SparseKernelPanels::add_shared_columns(Int row, double* sums) const {
  auto& x = data().csr();
  const T *values = x.values.view<T>().data, *others = values_.view<T>().data;
  Metric metric = kernel_->metric();
  Int begin = x.starts[row], end = x.starts[row + 1];
  auto each_shared = [&](auto&& f) {
    for (Int e = begin; e < end; ++e)
      if (Int u = used_.find(x.columns[e]); u >= 0) f(double(values[e]), starts_[u], starts_[u + 1]);
  };
  auto add_products = [&](double value, Int first, Int last) {
    for (Int f = first; f < last; ++f) sums[who_[f]] += value * double(others[f]);
  };
  if (metric == Metric::manhattan) {
    each_shared([&](double value, Int first, Int last) {
      double size = std::abs(value), sign = value < 0 ? -1 : 1;
      for (Int f = first; f < last; ++f) sums[who_[f]] += std::max(0.0, std::min(size, sign * double(others[f])));
    });
  } else if (metric == Metric::cosine) {
    auto [largest, rest] = Length(values + begin, end - begin);
    each_shared([&, largest = largest, rest = rest](double value, Int first, Int last) {
      add_products(value / largest / rest, first, last);
    });
  } else {
    each_shared(add_products);
  }
}

template <class T>
void SparseKernelPanels::panel(Rows rows, View<T> out) const {
  Metric metric = kernel_->metric();
  thread_local std::vector<double> scratch;
  scratch.resize(out.cols);
  double* sums = scratch.data();
  const double* others = own_.data();
  for (Int i = 0; i < out.rows; ++i) {
    T* line = out.line(i);
    std::fill_n(sums, out.cols, 0.0);
    add_shared_columns<T>(rows[i], sums);
    if (metric == Metric::dot || metric == Metric::cosine) {
      for (Int j = 0; j < out.cols; ++j) line[j] = static_cast<T>(sums[j]);
    } else {
      double own = own_part<T>(data().csr(), rows[i]);
      auto lost = [=](Int j) { return own + others[j] - 2 * sums[j] < lost_digits<T> * (own + others[j]); };
      bool some = false;
#pragma omp simd reduction(| : some)
      for (Int j = 0; j < out.cols; ++j) {
        line[j] = static_cast<T>(own + others[j] - 2 * sums[j]);
        some = some | lost(j);
      }
      for (Int j = 0; some && j < out.cols; ++j)
        if (lost(j)) line[j] = static_cast<T>(distance<T>(metric, data().csr(), rows[i], centers_, j));
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
