#include "core/elementwise.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kbcd {
namespace {

template <class T>
using Line = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;

// f(line) for every contiguous line of `a`.
template <class F>
void each_line(const Matrix& a, F&& f) {
  if (a.size() == 0) return;
  dispatch(a.dtype(), [&]<class T>() {
    auto v = a.view<T>();
    parallel_for(v.lines(), a.size() * 4, [&](Int i) { f(Line<T>(v.line(i), v.length())); });
  });
}

// b as a matrix of a's shape, type and direction; one row or one column is repeated.
Matrix conform(const char* what, const Matrix& a, const Matrix& b) {
  bool row = b.rows() == 1 && b.cols() == a.cols(), column = b.cols() == 1 && b.rows() == a.rows();
  if (!a.same_shape(b) && (row || column)) {
    if (a.size() == 0) return a;
    Matrix wide(a.rows(), a.cols(), a.dtype());
    for (Int i = 0; i < (row ? a.rows() : a.cols()); ++i)
      (row ? wide.row_block(i, 1) : wide.col_block(i, 1)).copy_from(b);
    return conform(what, a, wide);
  }
  require_same_shape(what, a, b);
  if (a.dtype() == b.dtype() && a.transposed() == b.transposed() && !a.overlaps(b)) return b;
  Matrix like = a.transposed() ? Matrix(a.cols(), a.rows(), a.dtype()).t() : Matrix(a.rows(), a.cols(), a.dtype());
  like.copy_from(b);
  return like;
}

template <class F>
void each_line_pair(const char* what, const Matrix& a, const Matrix& b, F&& f) {
  Matrix c = conform(what, a, b);
  if (a.size() == 0) return;
  dispatch(a.dtype(), [&]<class T>() {
    auto v = a.view<T>(), w = c.view<T>();
    parallel_for(v.lines(), a.size(),
                 [&](Int i) { f(Line<T>(v.line(i), v.length()), Line<T>(w.line(i), v.length())); });
  });
}

// Line results in f64, one slot a line, combined in order: the same on any number of threads.
template <class F>
std::vector<double> line_results(const Matrix& a, F&& f) {
  return dispatch(a.dtype(), [&]<class T>() {
    auto v = a.view<T>();
    std::vector<double> results(v.lines());
    parallel_for(v.lines(), a.size(), [&](Int i) { results[i] = f(Line<T>(v.line(i), v.length())); });
    return results;
  });
}

// Σ f(x_i) in f64. So many sums side by side keep the CPU's adders busy: it reads at the speed of memory.
template <class T, class F>
double line_sum(const T* x, Int count, F&& f) {
  constexpr int lanes = 32;
  double sums[lanes] = {};
  Int i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int l = 0; l < lanes; ++l) sums[l] += f(static_cast<double>(x[i + l]));
  for (; i < count; ++i) sums[i % lanes] += f(static_cast<double>(x[i]));
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) sums[l] += sums[l + half];
  return sums[0];
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum;
}

void require_numbers(const char* what, const Matrix& a) {
  require(a.size() > 0, "{}: a Matrix with at least one element expected, got {}", what, a.shape());
}

}  // namespace

void apply(const Matrix& a, Unary f) {
  each_line(a, [f](auto x) {
    switch (f) {
      case Unary::exp:
        x = x.exp();
        break;
      case Unary::log:
        x = x.log();
        break;
      case Unary::cos:
        x = x.cos();
        break;
      case Unary::sin:
        x = x.sin();
        break;
      case Unary::sqrt:
        x = x.sqrt();
        break;
      case Unary::abs:
        x = x.abs();
        break;
      case Unary::square:
        x = x.square();
        break;
      case Unary::tanh:
        x = x.tanh();
        break;
      case Unary::floor:
        x = x.floor();
        break;
      case Unary::sign:
        for (auto& value : x) value = value > 0 ? 1 : value < 0 ? -1 : value;  // 0 and NaN stay
        break;
    }
  });
}

void apply(const Matrix& a, const std::function<double(double)>& f) {
  for (Int i = 0; i < a.rows() && a.cols() > 0; ++i)
    for (Int j = 0; j < a.cols(); ++j) a.set(i, j, f(a.get(i, j)));
}

void power(const Matrix& a, double exponent) {
  each_line(a, [&](auto x) { x = x.pow(typename decltype(x)::Scalar(exponent)); });
}

void clamp(const Matrix& a, double low, double high) {
  require(low <= high, "clamp: low <= high expected, got {} and {}", low, high);
  each_line(a, [&](auto x) {
    using T = typename decltype(x)::Scalar;
    for (auto& value : x) value = value < T(low) ? T(low) : value > T(high) ? T(high) : value;  // NaN stays NaN
  });
}

void fill(const Matrix& a, double value) {
  each_line(a, [&](auto x) { x.setConstant(value); });
}

void scale(const Matrix& a, double factor) {
  each_line(a, [&](auto x) { x *= factor; });
}

void shift(const Matrix& a, double term) {
  each_line(a, [&](auto x) { x += term; });
}

void add(const Matrix& a, double factor, const Matrix& b, const char* what) {
  each_line_pair(what, a, b, [&](auto x, auto y) { x += typename decltype(x)::Scalar(factor) * y; });
}

void multiply(const Matrix& a, const Matrix& b) {
  each_line_pair("cmul", a, b, [&](auto x, auto y) { x *= y; });
}

void divide(const Matrix& a, const Matrix& b) {
  each_line_pair("cdiv", a, b, [&](auto x, auto y) { x /= y; });
}

void add_diagonal(const Matrix& a, double term) {
  require(a.rows() == a.cols(), "add_diagonal: a square Matrix expected, got {}", a.shape());
  for (Int i = 0; i < a.rows(); ++i) a.set(i, i, a.get(i, i) + term);
}

void add_diagonal(const Matrix& a, const Matrix& terms) {
  Int n = a.rows();
  bool column = terms.rows() == n && terms.cols() == 1, row = terms.rows() == 1 && terms.cols() == n;
  require(n == a.cols() && (row || column), "add_diagonal: cannot add {} to the diagonal of {}; {}x1 or 1x{} expected",
          terms.shape(), a.shape(), n, n);
  for (Int i = 0; i < n; ++i) a.set(i, i, a.get(i, i) + (column ? terms.get(i, 0) : terms.get(0, i)));
}

double sum(const Matrix& a) {
  if (a.size() == 0) return 0;
  return total(line_results(a, [](auto x) { return line_sum(x.data(), x.size(), [](double v) { return v; }); }));
}

double minimum(const Matrix& a) {
  require_numbers("min", a);
  auto lines = line_results(a, [](auto x) { return x.template minCoeff<Eigen::PropagateNaN>(); });
  return Line<double>(lines.data(), lines.size()).minCoeff<Eigen::PropagateNaN>();
}

double maximum(const Matrix& a) {
  require_numbers("max", a);
  auto lines = line_results(a, [](auto x) { return x.template maxCoeff<Eigen::PropagateNaN>(); });
  return Line<double>(lines.data(), lines.size()).maxCoeff<Eigen::PropagateNaN>();
}

// Where squares overflow or vanish, of numbers whose largest is 1.
double norm(const Matrix& a) {
  if (a.size() == 0) return 0;
  auto length = [&](auto square) {
    return std::sqrt(total(line_results(a, [&](auto x) { return line_sum(x.data(), x.size(), square); })));
  };
  double plain = length([](double x) { return x * x; });
  if (std::isnan(plain) || (plain > 1e-140 && plain < 1e150)) return plain;
  double largest = std::max(std::abs(minimum(a)), std::abs(maximum(a)));
  if (largest == 0 || !std::isfinite(largest)) return plain;
  return largest * length([largest](double x) { return (x / largest) * (x / largest); });
}

double dot(const Matrix& a, const Matrix& b) {
  Matrix products = a.to(DType::f64);
  multiply(products, b);
  return sum(products);
}

Matrix col_dots(const Matrix& a, const Matrix& b) {
  require_same_shape("dots", a, b);
  Matrix products = a.to(DType::f64);
  multiply(products, b);
  return col_sums(products);
}

double trace(const Matrix& a) {
  require(a.rows() == a.cols(), "trace: a square Matrix expected, got {}", a.shape());
  double sum = 0;
  for (Int i = 0; i < a.rows(); ++i) sum += a.get(i, i);
  return sum;
}

bool all_finite(const Matrix& a) {
  if (a.size() == 0) return true;
  // NaN and Inf times 0 are NaN.
  return total(line_results(a, [](auto x) { return (x * typename decltype(x)::Scalar(0)).sum() == 0 ? 0.0 : 1.0; })) ==
         0;
}

bool all_zero(const Matrix& a) {
  return dispatch(a.dtype(), [&]<class T>() {
    auto v = a.view<T>();
    for (Int i = 0; i < v.lines(); ++i)
      if (std::any_of(v.line(i), v.line(i) + v.length(), [](T x) { return x != 0; })) return false;
    return true;
  });
}

double largest_difference(const Matrix& a, const Matrix& b) {
  require_same_shape("difference", a, b);
  if (a.size() == 0) return 0;
  Matrix difference = a.to(DType::f64);
  each_line_pair("difference", difference, b, [](auto x, auto y) {
    for (Int j = 0; j < x.size(); ++j) x[j] = x[j] == y[j] ? 0 : std::abs(x[j] - y[j]);  // equal infinities differ by 0
  });
  return maximum(difference);
}

Matrix row_sums(const Matrix& a) {
  Matrix rows = a.transposed() ? a.clone() : a;
  Matrix sums(a.rows(), 1, DType::f64);
  auto lines = line_results(rows, [](auto x) { return x.template cast<double>().sum(); });
  std::copy(lines.begin(), lines.end(), sums.view<double>().data);
  return sums;
}

Matrix col_sums(const Matrix& a) {
  if (a.transposed()) return row_sums(a.t()).t();
  Matrix sums = Matrix::zeros(1, a.cols());
  Line<double> total(sums.view<double>().data, a.cols());
  dispatch(a.dtype(), [&]<class T>() {
    auto v = a.view<T>();
    for (Int i = 0; i < v.rows; ++i) total += Line<T>(v.line(i), v.cols).template cast<double>();
  });
  return sums;
}

Matrix row_argmax(const Matrix& a) {
  require(a.cols() > 0, "argmax: a Matrix with at least one column expected, got {}", a.shape());
  Matrix rows = a.transposed() ? a.clone() : a, best(a.rows(), 1, DType::f64);
  auto lines = line_results(rows, [](auto x) {
    Int where = 0;
    for (Int j = 1; j < x.size(); ++j)
      if (x[j] > x[where]) where = j;
    return static_cast<double>(where + 1);
  });
  std::copy(lines.begin(), lines.end(), best.view<double>().data);
  return best;
}

Matrix row_max(const Matrix& a) {
  require(a.cols() > 0, "max: a Matrix with at least one column expected, got {}", a.shape());
  Matrix rows = a.transposed() ? a.clone() : a, best(a.rows(), 1, DType::f64);
  auto lines = line_results(rows, [](auto x) { return x.template maxCoeff<Eigen::PropagateNaN>(); });
  std::copy(lines.begin(), lines.end(), best.view<double>().data);
  return best;
}

}  // namespace kbcd
