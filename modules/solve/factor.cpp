#include "modules/solve/factor.hpp"

#include <cmath>
#include <limits>

#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/tiles.hpp"
#include "core/timers.hpp"

namespace kbcd {
namespace {

constexpr Int height = 64;  // rows of L at a time

// L b (or L' b) for a b of few columns, which BLAS is slow at: panels of L's rows, up to the diagonal, on all threads.
Matrix lower_times(View<double> l, const Matrix& b) {
  Matrix c(l.rows, b.cols(), DType::f64);
  tiles::Columns<double> right(b.view<double>());
  parallel_for((l.rows + height - 1) / height, l.rows * l.cols * b.cols(), [&](Int p) {
    Int first = p * height, count = std::min(height, l.rows - first);
    tiles::multiply(l.rows_from(first, count).cols_from(0, first + count), right,
                    c.view<double>().rows_from(first, count));
  });
  return c;
}

Matrix lower_t_times(View<double> l, const Matrix& b) {
  Matrix bt = b.t().clone(), ct = Matrix::zeros(b.cols(), l.rows);
  constexpr Int width = 480;
  parallel_for((l.rows + width - 1) / width, l.rows * l.cols * b.cols(), [&](Int q) {
    Int column = q * width, columns = std::min(width, l.rows - column);
    for (Int first = column; first < l.rows; first += height) {
      Int count = std::min(height, l.rows - first);
      thread_local tiles::Rows<double> left;
      left.pack(bt.view<double>().cols_from(first, count));
      tiles::multiply(left, l.rows_from(first, count).cols_from(column, columns), true,
                      ct.view<double>().cols_from(column, columns));
    }
  });
  return ct.t().clone();
}

// (L L')⁻¹ x for an x of few columns, which BLAS is slow at. L is read in two sweeps over steps of its columns (for L)
// and of its rows (for L'): each solves for the numbers of its step and takes their part out of the others, on all
// threads.
template <class T>
Matrix solve_few(View<T> l, Matrix x) {
  constexpr Int step = 128;
  Int n = l.rows, k = x.cols(), steps = (n + step - 1) / step;
  auto square = [&](Int p) {
    Int first = p * step, count = std::min(step, n - first);
    return l.rows_from(first, count).cols_from(first, count);
  };
  for (Int p = 0; p < steps; ++p) {
    View<T> own = x.view<T>().rows_from(p * step, square(p).rows);
    blas::triangular_solve(square(p), true, false, own);
    Int next = p * step + own.rows, panels = (n - next + height - 1) / height;
    tiles::Columns<T> right(own);
    parallel_for(panels, (n - next) * step * k, [&](Int q) {
      Int first = next + q * height, count = std::min(height, n - first);
      thread_local tiles::Scratch<T> scratch;
      View<T> part{scratch.at_least(count * k), count, k, k}, rest = x.view<T>().rows_from(first, count);
      tiles::multiply(l.rows_from(first, count).cols_from(p * step, own.rows), right, part);
      for (Int i = 0; i < count; ++i)
        for (Int j = 0; j < k; ++j) rest.line(i)[j] -= part.line(i)[j];
    });
  }
  Matrix xt = x.t().clone();  // the rows of L are the columns of L'
  constexpr Int width = 480;
  for (Int p = steps - 1; p >= 0; --p) {
    View<T> own = xt.view<T>().cols_from(p * step, square(p).rows);
    blas::triangular_solve(square(p), true, true, own.t());
    tiles::Rows<T> left;
    left.pack(own, -1);
    parallel_for((p * step + width - 1) / width, p * step * step * k, [&](Int q) {
      Int first = q * width, count = std::min(width, p * step - first);
      tiles::multiply(left, l.rows_from(p * step, own.cols).cols_from(first, count), true,
                      xt.view<T>().cols_from(first, count));
    });
  }
  return xt.t().clone();
}

template <class T>
Matrix solve_lower(const Matrix& l, Matrix x) {
  constexpr Int few = 64;  // columns, up to which reading L takes longer than the arithmetic
  if (x.cols() <= few) return solve_few(l.view<T>(), x);
  blas::triangular_solve(l.view<T>(), true, false, x.view<T>());
  blas::triangular_solve(l.view<T>(), true, true, x.view<T>());
  return x;
}

template <class T>
void clear_upper(View<T> l) {
  for (Int i = 0; i < l.rows; ++i) std::fill(l.line(i) + i + 1, l.line(i) + l.cols, T(0));
}

void require_factorable(const Matrix& h, const std::string& what) {
  require(h.rows() == h.cols() && h.rows() > 0, "{}: a square Matrix expected, got {}", what, h.shape());
  require(all_finite(h), "{}: the {} matrix has NaN or Inf in it", what, h.shape());
}

double largest_in_column(View<double> x, Int j) {
  double largest = 0;
  for (Int i = 0; i < x.rows; ++i) largest = std::max(largest, std::abs(x(i, j)));
  return largest;
}

// The largest of max|a_j| / max|b_j| over the columns j.
double relative_size(const Matrix& a, const Matrix& b) {
  double largest = 0;
  for (Int j = 0; j < a.cols(); ++j) {
    double size = largest_in_column(b.view<double>(), j);
    if (size > 0) largest = std::max(largest, largest_in_column(a.view<double>(), j) / size);
  }
  return largest;
}

}  // namespace

Factor::Factor(Matrix h, bool may_jitter, const std::string& what, bool overwrite) {
  require_factorable(h, what);
  double step = 1e-2 * std::numeric_limits<double>::epsilon() * trace(h);
  double most = 1e10 * step;
  std::vector<double> diagonal(h.rows());
  for (Int i = 0; i < h.rows(); ++i) diagonal[i] = h.get(i, i);
  l_ = overwrite ? h.contiguous(DType::f64) : h.to(DType::f64);
  auto l = l_.view<double>();
  for (;;) {
    Int pivot = blas::cholesky(l);
    if (pivot == 0) {
      clear_upper(l);
      return;
    }
    require(may_jitter, "{}: {} matrix is not positive definite (pivot {}); raise lambda or gamma, or use jitter", what,
            h.shape(), pivot);
    require(step > 0, "{}: {} matrix is not positive definite and jitter cannot help: its trace is {}", what, h.shape(),
            100 * step / std::numeric_limits<double>::epsilon());
    require(jitter_ < most, "{}: {} matrix is not positive definite, even with {} added to its diagonal", what,
            h.shape(), jitter_);
    jitter_ = jitter_ == 0 ? step : 10 * jitter_;
    blas::mirror(l_.t());  // the upper triangle still has H
    for (Int i = 0; i < l.rows; ++i) l(i, i) = diagonal[i] + jitter_;
  }
}

Factor Factor::with_ridge(const Matrix& a, double ridge, bool may_jitter, const std::string& what) {
  require_factorable(a, what);
  // A step of refinement leaves about eps cond(H) of the error. Whether that is little shows in one step for some
  // right-hand side, always the same one: the choice depends on H alone.
  constexpr double slow = 0.1;
  if (a.dtype() == DType::f32 && std::numeric_limits<float>::epsilon() * trace(a) < ridge) {
    Factor f;
    f.l_ = a.to(DType::f32);
    auto l = f.l_.view<float>();
    for (Int i = 0; i < l.rows; ++i) l(i, i) = static_cast<float>(l(i, i) + ridge);
    if (blas::cholesky(l) == 0) {
      clear_upper(l);
      f.refined_ = Refined{a.contiguous(DType::f32), ridge};
      Matrix probe(a.rows(), 1, DType::f64);
      for (Int i = 0; i < a.rows(); ++i) probe.set(i, 0, i % 7 % 2 == 0 ? 1 : -1);
      Matrix x = f.coarse(probe);
      if (relative_size(f.coarse(f.residual(probe, x)), x) <= slow) return f;
    }
  }
  Matrix h = a.to(DType::f64);
  for (Int i = 0; i < h.rows(); ++i) h.set(i, i, h.get(i, i) + ridge);
  return Factor(h, may_jitter, what, true);
}

std::vector<Factor> factor_all(const std::vector<Matrix>& matrices, bool may_jitter,
                               const std::vector<std::string>& names, bool overwrite,
                               const std::vector<double>& ridges) {
  Timer timer("chol");
  std::vector<std::optional<Factor>> found(matrices.size());
  Int count = static_cast<Int>(matrices.size()), work = 0;
  for (auto& m : matrices) work += m.size() * m.rows();
  parallel_for(count, work, [&](Int i) {
    if (ridges.empty())
      found[i].emplace(matrices[i], may_jitter, names[i], overwrite);
    else
      found[i].emplace(Factor::with_ridge(matrices[i], ridges[i], may_jitter, names[i]));
  });
  std::vector<Factor> factors;
  for (auto& factor : found) factors.push_back(std::move(*factor));
  return factors;
}

// b − A x − r x, of an A in f32, in f64.
Matrix Factor::residual(const Matrix& b, const Matrix& x) const {
  auto a = refined_->a.view<float>();
  Matrix r = b.clone();
  tiles::Columns<double> right(x.view<double>());
  parallel_for((a.rows + height - 1) / height, a.rows * a.cols * x.cols(), [&](Int p) {
    Int first = p * height, count = std::min(height, a.rows - first);
    thread_local tiles::Scratch<double> wide, sums;
    View<double> rows{wide.at_least(count * a.cols), count, a.cols, a.cols};
    View<double> part{sums.at_least(count * x.cols()), count, x.cols(), x.cols()};
    for (Int i = 0; i < count; ++i) std::copy_n(a.line(first + i), a.cols, rows.line(i));
    tiles::multiply(rows, right, part);
    for (Int i = 0; i < count; ++i)
      for (Int j = 0; j < x.cols(); ++j)
        r.view<double>()(first + i, j) -= part.line(i)[j] + refined_->ridge * x.view<double>()(first + i, j);
  });
  return r;
}

// (L L')⁻¹ b in f32. Each column is scaled, so that small numbers are not lost.
Matrix Factor::coarse(const Matrix& b) const {
  auto from = b.view<double>();
  Matrix scaled(b.rows(), b.cols(), DType::f32), x(b.rows(), b.cols(), DType::f64);
  std::vector<double> unit(b.cols());
  for (Int j = 0; j < b.cols(); ++j) unit[j] = largest_in_column(from, j);
  auto to = scaled.view<float>();
  for (Int i = 0; i < b.rows(); ++i)
    for (Int j = 0; j < b.cols(); ++j) to(i, j) = unit[j] > 0 ? static_cast<float>(from(i, j) / unit[j]) : 0;
  scaled = solve_lower<float>(l_, scaled);
  auto solved = scaled.view<float>();
  for (Int i = 0; i < b.rows(); ++i)
    for (Int j = 0; j < b.cols(); ++j) x.view<double>()(i, j) = unit[j] * static_cast<double>(solved(i, j));
  return x;
}

Matrix Factor::times(const Matrix& b) const {
  Timer timer("Factor:times");
  require(b.rows() == size(), "Factor:times: a Matrix of {} rows expected, got {}", size(), b.shape());
  if (refined_) {
    Matrix product = residual(Matrix::zeros(b.rows(), b.cols()), b.contiguous(DType::f64));
    scale(product, -1);
    return product;
  }
  return lower_times(l_.view<double>(), lower_t_times(l_.view<double>(), b.contiguous(DType::f64)));
}

Matrix Factor::solve(const Matrix& b) const {
  Timer timer("solve");
  require(b.rows() == size(), "solve: a right-hand side of {} rows expected, got {}", size(), b.shape());
  if (!refined_) return solve_lower<double>(l_, b.to(DType::f64));
  constexpr double enough = 1e-7;  // of the solution: A itself has rounding errors of that size
  constexpr int most = 10;
  Matrix right = b.to(DType::f64), x = coarse(right);
  double before = 1;
  for (int i = 0; i < most; ++i) {
    Matrix change = coarse(residual(right, x));
    add(x, 1, change);
    double now = relative_size(change, x);
    if (!(now * now / before > enough)) break;  // the size of the next change
    before = now;
  }
  return x;
}

}  // namespace kbcd
