#include "modules/blocks/panel_source.hpp"

#include <Eigen/Core>
#include <cmath>
#include <numeric>

#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/timers.hpp"

namespace kbcd {
namespace {

template <class T>
using Line = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;

// Room for one panel's rows, kept by each thread from panel to panel.
template <class T, int purpose>
View<T> scratch(Int rows, Int cols) {
  thread_local std::vector<T> room;
  if (static_cast<Int>(room.size()) < rows * cols) room.resize(rows * cols);
  return {room.data(), rows, cols, cols};
}

template <class T>
void normalize_rows(View<T> x) {
  for (Int i = 0; i < x.rows; ++i) {
    Line<T> row(x.line(i), x.cols);
    T norm = std::sqrt(row.square().sum());
    if (norm > 0) row /= norm;
  }
}

template <class T>
void manhattan(View<T> x, View<T> c, View<T> out) {
  constexpr Int tile = 64;  // centres that stay in cache while all rows pass
  for (Int j0 = 0; j0 < c.rows; j0 += tile)
    for (Int i = 0; i < x.rows; ++i)
      for (Int j = j0; j < std::min(c.rows, j0 + tile); ++j)
        out(i, j) = (Line<T>(x.line(i), x.cols) - Line<T>(c.line(j), x.cols)).abs().sum();
}

}  // namespace

PanelSource::PanelSource(DataSet x, std::optional<Index> rows) : x_(std::move(x)) {
  if (rows) selected_ = x_.local_rows(*rows);
}

template <class T>
void PanelSource::fill(Int first, View<T> out) const {
  if (selected_) return fill_rows({selected_->values().data() + first, static_cast<std::size_t>(out.rows)}, out);
  thread_local std::vector<Int> rows;
  rows.resize(out.rows);
  std::iota(rows.begin(), rows.end(), first);
  fill_rows(rows, out);
}

template <class T>
void PanelSource::fill_rows(std::span<const Int> local_rows, View<T> out) const {
  compute(local_rows, out);
  timers::count(counter(), static_cast<double>(out.rows) * out.cols);
}

template <class T>
View<T> PanelSource::dense_rows(Rows rows) const {
  auto x = x_.local().view<T>();
  Int count = static_cast<Int>(rows.size());
  if (count == 0) return x.rows_from(0, 0);
  bool in_sequence = true;
  for (Int i = 1; i < count && in_sequence; ++i) in_sequence = rows[i] == rows[0] + i;
  if (in_sequence) return x.rows_from(rows[0], count);
  auto copy = scratch<T, 0>(count, x.cols);
  for (Int i = 0; i < count; ++i) std::copy_n(x.line(rows[i]), x.cols, copy.line(i));
  return copy;
}

template void PanelSource::fill(Int, View<float>) const;
template void PanelSource::fill(Int, View<double>) const;
template void PanelSource::fill_rows(std::span<const Int>, View<float>) const;
template void PanelSource::fill_rows(std::span<const Int>, View<double>) const;
template View<float> PanelSource::dense_rows(Rows) const;
template View<double> PanelSource::dense_rows(Rows) const;

KernelPanels::KernelPanels(DataSet x, std::optional<Index> rows, std::shared_ptr<Kernel> kernel, Matrix centers)
    : PanelSource(std::move(x), std::move(rows)), kernel_(std::move(kernel)), centers_(centers.to(dtype())) {
  require(centers_.cols() == data().d(), "KernelBlock: centres of {} numbers expected as in X, got {}", data().d(),
          centers_.cols());
  if (kernel_->metric() == Metric::sqeuclidean && centers_.rows() > 0) {
    Matrix mean = col_sums(centers_);
    scale(mean, 1.0 / centers_.rows());
    origin_ = mean.to(dtype());
    add(centers_, -1, origin_);
    Matrix squares = centers_.clone();
    apply(squares, Unary::square);
    norms_ = row_sums(squares).t().to(dtype());
    require(all_finite(norms_), "KernelBlock: the squared length of a row is beyond {}; scale the data",
            kbcd::name(dtype()));
  }
  if (kernel_->metric() == Metric::cosine) dispatch(dtype(), [&]<class T>() { normalize_rows(centers_.view<T>()); });
}

template <class T>
void KernelPanels::panel(View<T> x, View<T> out) const {
  auto c = centers_.view<T>();
  Metric metric = kernel_->metric();
  if (metric == Metric::manhattan) {
    manhattan(x, c, out);
  } else if (metric == Metric::dot) {
    blas::gemm(T(1), x, c.t(), false, out);
  } else {
    auto rows = scratch<T, 1>(x.rows, x.cols);
    for (Int i = 0; i < x.rows; ++i) {
      Line<T> row(rows.line(i), x.cols);
      row = Line<T>(x.line(i), x.cols);
      if (metric == Metric::sqeuclidean) row -= Line<T>(origin_.view<T>().data, x.cols);
    }
    if (metric == Metric::cosine) {
      normalize_rows(rows);
      blas::gemm(T(1), rows, c.t(), false, out);
    } else {
      // ‖x − c‖² = ‖x‖² + ‖c‖² − 2 x·c, where rounding must not leave it negative.
      blas::gemm(T(-2), rows, c.t(), false, out);
      Line<T> norms(norms_.view<T>().data, out.cols);
      for (Int i = 0; i < out.rows; ++i) {
        Line<T> line(out.line(i), out.cols), row(rows.line(i), x.cols);
        T norm = row.square().sum();
        require(std::isfinite(norm), "KernelBlock: the squared length of a row is beyond {}; scale the data",
                kbcd::name(dtype_of<T>));
        line = (line + norms + norm).max(T(0));
        // Where the difference lost its digits, once more without it.
        if ((line < T(lost_digits) * (norms + norm)).any())
          for (Int j = 0; j < out.cols; ++j)
            if (line[j] < T(lost_digits) * (norm + norms[j]))
              line[j] = (row - Line<T>(c.line(j), x.cols)).square().sum();
        if (!kernel_->main_thread_only()) kernel_->kappa(out.rows_from(i, 1));  // while the line is in cache
      }
      if (!kernel_->main_thread_only()) return;
    }
  }
  kernel_->kappa(out);
}

FeaturePanels::FeaturePanels(DataSet x, std::optional<Index> rows, std::shared_ptr<FeatureMap> map,
                             const Index& features)
    : PanelSource(std::move(x), std::move(rows)), map_(std::move(map)), cols_(features.size()) {
  features.require_within("RandomFeaturesBlock", map_->p());
  block_ = map_->block(features, data().d(), dtype());
  if (data().sparse()) block_->prepare_sparse();
}

}  // namespace kbcd
