#include "modules/blocks/panel_source.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/elementwise.hpp"
#include "core/timers.hpp"

namespace kbcd {
namespace {

template <class T>
using Line =
    Eigen::Map<std::conditional_t<std::is_const_v<T>, const Eigen::Array<std::remove_const_t<T>, 1, Eigen::Dynamic>,
                                  Eigen::Array<T, 1, Eigen::Dynamic>>>;

// A buffer for one panel's rows, which each thread keeps from panel to panel.
template <class T, int purpose>
View<T> scratch(Int rows, Int cols) {
  thread_local std::vector<T> buffer;
  if (static_cast<Int>(buffer.size()) < rows * cols) buffer.resize(rows * cols);
  return {buffer.data(), rows, cols, cols};
}

constexpr Int columns_in_cache = 240;  // of a panel, between the product and what follows it; whole strips

// A squared distance below this part of ‖x‖² + ‖c‖² has too few correct digits when it is computed from them.
template <class T>
constexpr T lost_digits = std::is_same_v<T, float> ? T(2e-2) : T(1e-3);

// The largest entry becomes 1 first, so that squares neither vanish nor overflow.
template <class T>
void normalize_rows(View<T> x) {
  for (Int i = 0; i < x.rows && x.cols > 0; ++i) {
    Line<T> row(x.line(i), x.cols);
    T largest = row.abs().maxCoeff();
    if (!(largest > 0)) continue;
    row /= largest;
    row /= std::sqrt(row.square().sum());
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

void PanelSource::set_scales(const std::optional<Matrix>& rows, const std::optional<Matrix>& columns) {
  auto checked = [&](const char* what, const std::optional<Matrix>& given, Int count, const char* of) {
    if (!given) return std::optional<Matrix>();
    require(given->rows() == count && given->cols() == 1, "{}: {}: a {}x1 Matrix expected, one for each of {}, got {}",
            name(), what, count, of, given->shape());
    require(all_finite(*given), "{}: {} has NaN or Inf in it", name(), what);
    return std::optional<Matrix>(given->to(dtype()));
  };
  row_scale_ = checked("row_scale", rows, x_.local_n(), "this rank's rows of X");
  column_scale_ = checked("column_scale", columns, cols(), "the columns");
}

// diag(r) B diag(c) d
Matrix PanelSource::times(const Matrix& d) const {
  Matrix right = column_scale_ ? d.to(DType::f64) : d;
  if (column_scale_) multiply(right, *column_scale_);
  Matrix out = unscaled_times(right);
  if (row_scale_)
    for (Int i = 0; i < rows(); ++i) scale(out.row_block(i, 1), row_scale_->get(local_row(i), 0));
  return out;
}

// diag(c) Bᵀ diag(r) a
Matrix PanelSource::t_times(const Matrix& a) const {
  Matrix right = row_scale_ ? a.to(DType::f64) : a;
  if (row_scale_)
    for (Int i = 0; i < rows(); ++i) scale(right.row_block(i, 1), row_scale_->get(local_row(i), 0));
  Matrix out = unscaled_t_times(right);
  if (column_scale_) multiply(out, *column_scale_);
  return out;
}

std::unique_ptr<PanelSource> PanelSource::square() const {
  auto square = unscaled_square();
  if (square && column_scale_) square->set_scales(column_scale_, column_scale_);
  return square;
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
  if (row_scale_)
    for (Int i = 0; i < out.rows; ++i) Line<T>(out.line(i), out.cols) *= row_scale_->view<T>().data[local_rows[i]];
  if (column_scale_)
    for (Int i = 0; i < out.rows; ++i)
      Line<T>(out.line(i), out.cols) *= Line<T>(column_scale_->view<T>().data, out.cols);
  timers::count(counter(), static_cast<double>(out.rows) * out.cols);
}

template <class T>
View<T> PanelSource::dense_rows(Rows rows) const {
  Int count = static_cast<Int>(rows.size());
  if (x_.is_bytes()) {
    auto numbers = scratch<T, 0>(count, x_.d());
    for (Int i = 0; i < count; ++i) x_.bytes().decode(rows[i], numbers.line(i));
    return numbers;
  }
  auto x = x_.local().view<T>();
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
  Matrix multiplied = centers_;  // what the rows are multiplied with
  if (kernel_->metric() == Metric::sqeuclidean && centers_.rows() > 0) {
    Matrix mean = col_sums(centers_);
    scale(mean, 1.0 / centers_.rows());
    origin_ = mean.to(dtype());
    norms_ = Matrix(1, centers_.rows(), dtype());
    multiplied = centers_.clone();
    dispatch(dtype(), [&]<class T>() {
      auto c = multiplied.view<T>();
      parallel_for(c.rows, centers_.size(), [&](Int i) {
        Line<T> line(c.line(i), c.cols);
        line -= Line<T>(origin_.view<T>().data, c.cols);
        norms_.view<T>().data[i] = require_length(line.square().sum());
      });
    });
    largest_norm_ = maximum(norms_);
  }
  dispatch(dtype(), [&]<class T>() {
    if (kernel_->metric() == Metric::cosine) normalize_rows(centers_.view<T>());
    if (kernel_->metric() != Metric::manhattan) packed_ = tiles::Columns<T>(multiplied.view<T>().t());
  });
}

std::unique_ptr<PanelSource> KernelPanels::unscaled_square() const {
  return std::make_unique<KernelPanels>(DataSet::own(centers_), std::nullopt, kernel_, centers_);
}

// The rows as the metric wants them, packed; sqeuclidean: −2 of them, and their squared lengths.
template <class T>
void KernelPanels::pack(Rows rows, tiles::Rows<T>& packed, std::vector<T>& norms) const {
  Metric metric = kernel_->metric();
  Int count = static_cast<Int>(rows.size()), group = packed.group_rows(), d = data().d();
  packed.resize(count, d);
  norms.resize(count);
  auto lines = scratch<T, 1>(group, d);
  for (Int first = 0; first < count; first += group) {
    Int here = std::min(group, count - first);
    for (Int i = 0; i < here; ++i) {
      Line<T> line(lines.line(i), d);
      const T* row = data().line(rows[first + i], lines.line(i));
      if (row != line.data()) line = Line<const T>(row, d);
      if (metric == Metric::sqeuclidean) {
        line -= Line<T>(origin_.view<T>().data, d);
        norms[first + i] = require_length(line.square().sum());
      }
    }
    if (metric == Metric::cosine) normalize_rows(lines.rows_from(0, here));
    packed.set(first, here, lines.data, lines.ld, metric == Metric::sqeuclidean ? T(-2) : T(1));
  }
}

// ‖x − c‖² = ‖x‖² + ‖c‖² − 2 x·c from the last term, for the centres from `first`; rounding must not leave it
// negative, and where the difference lost its digits it is computed once more from the numbers as they are stored.
template <class T>
void KernelPanels::squared_distances(Int x, T norm, Int first, View<T> out) const {
  T *norms = norms_.view<T>().data + first, *line = out.data, least = std::numeric_limits<T>::infinity();
#pragma omp simd reduction(min : least)
  for (Int j = 0; j < out.cols; ++j) {
    T distance = line[j] + norms[j] + norm;
    distance = distance < 0 ? 0 : distance;
    least = distance < least ? distance : least;
    line[j] = distance;
  }
  if (least > lost_digits<T> * (norm + T(largest_norm_))) return;
  auto c = centers_.view<T>();
  Line<const T> row(data().line(x, scratch<T, 2>(1, c.cols).data), c.cols);
  for (Int j = 0; j < out.cols; ++j)
    if (line[j] <= lost_digits<T> * (norm + norms[j]))
      line[j] = (row - Line<T>(c.line(first + j), c.cols)).square().sum();
}

template <class T>
void KernelPanels::panel(Rows rows, View<T> out) const {
  Metric metric = kernel_->metric();
  if (metric == Metric::manhattan) {
    manhattan(dense_rows<T>(rows), centers_.view<T>(), out);
    return kernel_->kappa(out);
  }
  thread_local tiles::Rows<T> packed;
  thread_local std::vector<T> norms;
  pack(rows, packed, norms);
  for (Int first = 0; first < out.cols; first += columns_in_cache) {
    View<T> columns = out.cols_from(first, std::min(columns_in_cache, out.cols - first));
    tiles::multiply(packed, std::get<tiles::Columns<T>>(packed_), first, columns);
    for (Int i = 0; i < out.rows; ++i) {
      View<T> line = columns.rows_from(i, 1);
      if (metric == Metric::sqeuclidean) squared_distances(rows[i], norms[i], first, line);
      if (!kernel_->main_thread_only()) kernel_->kappa(line);
    }
  }
  if (kernel_->main_thread_only()) kernel_->kappa(out);
}

FeaturePanels::FeaturePanels(DataSet x, std::optional<Index> rows, std::shared_ptr<FeatureMap> map,
                             const Index& features)
    : PanelSource(std::move(x), std::move(rows)), map_(std::move(map)), cols_(features.size()) {
  features.require_within("RandomFeaturesBlock", map_->p());
  block_ = data().sparse() ? map_->sparse_block(features, data().d(), dtype(), longest_row(data().csr()))
                           : map_->block(features, data().d(), dtype());
}

}  // namespace kbcd
