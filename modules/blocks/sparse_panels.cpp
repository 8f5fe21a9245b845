#include "modules/blocks/sparse_panels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kbcd {
namespace {

// A distance below so much of what both rows have has too few digits left, where the sums are f64.
template <class T>
constexpr double lost_digits = std::is_same_v<T, float> ? 1e-6 : 1e-3;
// The same where the sums of so many entries are f32: rounding grows with their square root.
double lost_in_f32(Int entries) {
  return 2e-2 * std::sqrt(std::max(1.0, static_cast<double>(entries) / 64));
}
constexpr Int most_in_f32 = 4096;  // entries of a row; more are summed in f64
constexpr Int few = 8;             // distances of a strip that are computed entry by entry rather than all in f64

// What |x| and |c| share of a column: the smaller of the two where the signs are the same. c: a number or a vector.
template <class T, class C>
[[gnu::always_inline]] inline C shared(T x, C c) {
  C zero{}, size = zero + (x < 0 ? -x : x), same = x < 0 ? -c : c, least = same < size ? same : size;
  return least > zero ? least : zero;
}

// Places of the numbers in ascending order, equal ones in the order given: by their lower and then their upper 16 bits.
std::vector<std::int32_t> ascending(const std::vector<std::int32_t>& numbers) {
  std::vector<std::int32_t> order(numbers.size()), before(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  for (int shift : {0, 16}) {
    std::vector<Int> next((1 << 16) + 1);
    auto digit = [&](std::int32_t at) { return numbers[at] >> shift & 0xffff; };
    for (std::int32_t at : order) ++next[digit(at) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::swap(order, before);
    for (std::int32_t at : before) order[next[digit(at)]++] = at;
  }
  return order;
}

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

  Length() = default;
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
  index_columns();
  dispatch(dtype(), [&]<class T>() {
    const T* from = centers_.values.view<T>().data;
    T* to = values_.view<T>().data;
    if (kernel_->metric() == Metric::cosine) {
      std::vector<Length> lengths;
      for (Int i = 0; i < centers_.rows; ++i)
        lengths.emplace_back(from + centers_.starts[i], centers_.starts[i + 1] - centers_.starts[i]);
      for (Int e = 0; e < centers_.nnz(); ++e) to[e] = static_cast<T>(lengths[who_[e]].divide(to[e]));
    } else if (kernel_->metric() != Metric::dot) {
      own_.resize(centers_.rows);
      for (Int i = 0; i < centers_.rows; ++i) own_[i] = own_part<T>(centers_, i);
    }
    make_strips<T>();
  });
}

void SparseKernelPanels::index_columns() {
  Int nnz = centers_.nnz();
  std::vector<std::int32_t> order = ascending(centers_.columns), center(nnz), used;
  for (Int i = 0; i < centers_.rows; ++i)
    std::fill(center.begin() + centers_.starts[i], center.begin() + centers_.starts[i + 1], i);
  who_.resize(nnz);
  values_ = Matrix(1, nnz, dtype());
  dispatch(dtype(), [&]<class T>() {
    const T* from = centers_.values.view<T>().data;
    T* to = values_.view<T>().data;
    for (Int e = 0; e < nnz; ++e) {
      std::int32_t at = order[e];
      if (used.empty() || used.back() != centers_.columns[at]) {
        used.push_back(centers_.columns[at]);
        starts_.push_back(e);
      }
      who_[e] = center[at];
      to[e] = from[at];
    }
  });
  starts_.push_back(nnz);
  used_ = ColumnPlaces(std::move(used));
}

// A column is worth a line of strips where its entries would take longer one by one: from one in two vectors. The most
// frequent ones stay in cache.
template <class T>
void SparseKernelPanels::make_strips() {
  constexpr Int most = (1 << 20) / (Strips<T>::width * sizeof(T));
  auto centers_with = [&](Int u) { return starts_[u + 1] - starts_[u]; };
  std::vector<Int> frequent;
  for (Int u = 0; u < used_.size(); ++u)
    if (centers_with(u) * 2 * Strips<T>::lanes >= centers_.rows) frequent.push_back(u);
  std::sort(frequent.begin(), frequent.end(), [&](Int a, Int b) {
    return centers_with(a) != centers_with(b) ? centers_with(a) > centers_with(b) : a < b;
  });
  if (static_cast<Int>(frequent.size()) > most) frequent.resize(most);
  Strips<T> strips(frequent.size(), centers_.rows);
  const T* values = values_.view<T>().data;
  line_of_.assign(used_.size(), -1);
  for (Int line = 0; line < strips.lines(); ++line) {
    Int u = frequent[line];
    line_of_[u] = static_cast<std::int32_t>(line);
    for (Int f = starts_[u]; f < starts_[u + 1]; ++f)
      strips.line(who_[f] / strips.width, line)[who_[f] % strips.width] = values[f];
  }
  strips_ = std::move(strips);
}

template <class T>
double SparseKernelPanels::own_part(const Csr& csr, Int row) const {
  const T* values = csr.values.view<T>().data;
  double sum = 0;
  for (Int e = csr.starts[row]; e < csr.starts[row + 1]; ++e)
    sum += kernel_->metric() == Metric::manhattan ? std::abs(double(values[e])) : double(values[e]) * double(values[e]);
  return require_length(sum, dtype());
}

// visit(value, u) for the entries of the row in used columns; its values are those of length 1 (cosine).
template <class T, class Visit>
void SparseKernelPanels::each_shared(Int row, Visit&& visit) const {
  auto& x = data().csr();
  const T* values = x.values.view<T>().data;
  Int begin = x.starts[row], end = x.starts[row + 1];
  Length length;
  if (kernel_->metric() == Metric::cosine) length = Length(values + begin, end - begin);
  for (Int e = begin; e < end; ++e)
    if (Int u = used_.find(x.columns[e]); u >= 0) visit(length.divide(double(values[e])), u);
}

// sums[c]: over the columns that the row and centre c share and that have no line of strips.
template <class T>
void SparseKernelPanels::add_rare_columns(Int row, T* sums, FrequentEntries<T>& frequent) const {
  const T* others = values_.view<T>().data;
  bool manhattan = kernel_->metric() == Metric::manhattan;
  each_shared<T>(row, [&](double exact, Int u) {
    T value = static_cast<T>(exact);
    if (line_of_[u] >= 0) {
      frequent.lines.push_back(line_of_[u]);
      frequent.values.push_back(value);
    } else if (manhattan) {
      for (Int f = starts_[u]; f < starts_[u + 1]; ++f) sums[who_[f]] += shared(value, others[f]);
    } else {
      for (Int f = starts_[u]; f < starts_[u + 1]; ++f) sums[who_[f]] += value * others[f];
    }
  });
  frequent.starts.push_back(static_cast<Int>(frequent.lines.size()));
}

// The distances of a row to the centres of a strip from their sums; false where so many have lost their digits that the
// row is better computed in f64.
template <class T>
bool SparseKernelPanels::finish(Int row, double own, Int strip, const T* sums, View<T> line) const {
  constexpr bool narrow = std::is_same_v<T, float>;
  auto& x = data().csr();
  Int first = strip * Strips<T>::width, entries = x.starts[row + 1] - x.starts[row], count = 0;
  const double* others = own_.data() + first;
  double least = narrow ? lost_in_f32(entries) : lost_digits<double>;
  auto lost = [=](Int j) { return own + others[j] - 2 * double(sums[j]) < least * (own + others[j]); };
  T* to = line.data;
#pragma omp simd reduction(+ : count)
  for (Int j = 0; j < line.cols; ++j) {
    to[j] = static_cast<T>(own + others[j] - 2 * double(sums[j]));
    count += lost(j);
  }
  if (count == 0) return true;
  if (narrow && count > few) return false;
  for (Int j = 0; j < line.cols; ++j)
    if (lost(j)) to[j] = static_cast<T>(distance<T>(kernel_->metric(), x, row, centers_, first + j));
  return true;
}

template <class T>
void SparseKernelPanels::row_in_f64(Int row, View<T> line) const {
  Metric metric = kernel_->metric();
  thread_local std::vector<double> sums;
  sums.assign(line.cols, 0);
  const T* others = values_.view<T>().data;
  each_shared<T>(row, [&](double value, Int u) {
    for (Int f = starts_[u]; f < starts_[u + 1]; ++f)
      sums[who_[f]] += metric == Metric::manhattan ? shared(value, double(others[f])) : value * double(others[f]);
  });
  bool is_distance = !own_.empty();
  double own = is_distance ? own_part<T>(data().csr(), row) : 0;
  for (Int j = 0; j < line.cols; ++j) {
    double sizes = is_distance ? own + own_[j] : 0, value = is_distance ? sizes - 2 * sums[j] : sums[j];
    bool lost = is_distance && value < lost_digits<T> * sizes;
    line.data[j] = static_cast<T>(lost ? distance<T>(metric, data().csr(), row, centers_, j) : value);
  }
}

template <class T>
void SparseKernelPanels::panel(Rows rows, View<T> out) const {
  auto& x = data().csr();
  auto& strips = std::get<Strips<T>>(strips_);
  using Vector = typename Strips<T>::Vector;
  bool manhattan = kernel_->metric() == Metric::manhattan;
  thread_local FrequentEntries<T> frequent;
  frequent.lines.clear(), frequent.values.clear(), frequent.starts.assign(1, 0);
  std::vector<double> own(out.rows);
  std::vector<char> in_f64(out.rows);
  for (Int i = 0; i < out.rows; ++i) {
    std::fill_n(out.line(i), out.cols, T(0));
    add_rare_columns<T>(rows[i], out.line(i), frequent);
    in_f64[i] = std::is_same_v<T, float> && x.starts[rows[i] + 1] - x.starts[rows[i]] > most_in_f32;
    if (!own_.empty()) own[i] = own_part<T>(x, rows[i]);
  }
  auto apply = [&](View<T> values) {  // while they are in cache
    if (!kernel_->main_thread_only()) kernel_->kappa(values);
  };
  for (Int strip = 0; strip < strips.count(); ++strip)
    for (Int i = 0; i < out.rows; ++i) {
      if (in_f64[i]) continue;
      View<T> line = out.rows_from(i, 1).cols_from(strip * strips.width, strips.columns(strip));
      T sums[Strips<T>::width] = {};
      std::copy_n(line.data, line.cols, sums);
      Int begin = frequent.starts[i], entries = frequent.starts[i + 1] - begin;
      const std::int32_t* lines = frequent.lines.data() + begin;
      const T* values = frequent.values.data() + begin;
      if (manhattan)
        strips.add(strip, lines, values, entries, sums, [](T value, Vector line) { return shared(value, line); });
      else
        strips.add_products(strip, lines, values, entries, sums);
      if (own_.empty())
        std::copy_n(sums, line.cols, line.data);
      else if (!finish(rows[i], own[i], strip, sums, line))
        in_f64[i] = true;
      if (!in_f64[i]) apply(line);
    }
  for (Int i = 0; i < out.rows; ++i) {
    if (!in_f64[i]) continue;
    row_in_f64(rows[i], out.rows_from(i, 1));
    apply(out.rows_from(i, 1));
  }
  if (kernel_->main_thread_only()) kernel_->kappa(out);
}

void SparseKernelPanels::compute(Rows rows, View<float> out) const {
  panel(rows, out);
}
void SparseKernelPanels::compute(Rows rows, View<double> out) const {
  panel(rows, out);
}

}  // namespace kbcd
