#include "modules/solve/factor.hpp"

#include <limits>
#include <optional>

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
Matrix solve_few(View<double> l, Matrix x) {
  constexpr Int step = 128;
  Int n = l.rows, k = x.cols(), steps = (n + step - 1) / step;
  auto square = [&](Int p) {
    Int first = p * step, count = std::min(step, n - first);
    return l.rows_from(first, count).cols_from(first, count);
  };
  for (Int p = 0; p < steps; ++p) {
    View<double> own = x.view<double>().rows_from(p * step, square(p).rows);
    blas::triangular_solve(square(p), true, false, own);
    Int next = p * step + own.rows, panels = (n - next + height - 1) / height;
    tiles::Columns<double> right(own);
    parallel_for(panels, (n - next) * step * k, [&](Int q) {
      Int first = next + q * height, count = std::min(height, n - first);
      thread_local tiles::Scratch<double> scratch;
      View<double> part{scratch.at_least(count * k), count, k, k}, rest = x.view<double>().rows_from(first, count);
      tiles::multiply(l.rows_from(first, count).cols_from(p * step, own.rows), right, part);
      for (Int i = 0; i < count; ++i)
        for (Int j = 0; j < k; ++j) rest.line(i)[j] -= part.line(i)[j];
    });
  }
  Matrix xt = x.t().clone();  // the rows of L are the columns of L'
  constexpr Int width = 480;
  for (Int p = steps - 1; p >= 0; --p) {
    View<double> own = xt.view<double>().cols_from(p * step, square(p).rows);
    blas::triangular_solve(square(p), true, true, own.t());
    tiles::Rows<double> left;
    left.pack(own, -1);
    parallel_for((p * step + width - 1) / width, p * step * step * k, [&](Int q) {
      Int first = q * width, count = std::min(width, p * step - first);
      tiles::multiply(left, l.rows_from(p * step, own.cols).cols_from(first, count), true,
                      xt.view<double>().cols_from(first, count));
    });
  }
  return xt.t().clone();
}

}  // namespace

Factor::Factor(Matrix h, bool may_jitter, const std::string& what, bool overwrite) {
  require(h.rows() == h.cols() && h.rows() > 0, "{}: a square Matrix expected, got {}", what, h.shape());
  require(all_finite(h), "{}: the {} matrix has NaN or Inf in it", what, h.shape());
  double step = 1e-2 * std::numeric_limits<double>::epsilon() * trace(h);
  double most = 1e10 * step;
  std::vector<double> diagonal(h.rows());
  for (Int i = 0; i < h.rows(); ++i) diagonal[i] = h.get(i, i);
  l_ = overwrite ? h.contiguous(DType::f64) : h.to(DType::f64);
  auto l = l_.view<double>();
  for (;;) {
    Int pivot = blas::cholesky(l);
    if (pivot == 0) {
      for (Int i = 0; i < l.rows; ++i) std::fill(l.line(i) + i + 1, l.line(i) + l.cols, 0.0);
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

std::vector<Factor> factor_all(const std::vector<Matrix>& matrices, bool may_jitter,
                               const std::vector<std::string>& names, bool overwrite) {
  Timer timer("chol");
  std::vector<std::optional<Factor>> found(matrices.size());
  Int count = static_cast<Int>(matrices.size()), work = 0;
  for (auto& m : matrices) work += m.size() * m.rows();
  parallel_for(count, work, [&](Int i) { found[i].emplace(matrices[i], may_jitter, names[i], overwrite); });
  std::vector<Factor> factors;
  for (auto& factor : found) factors.push_back(std::move(*factor));
  return factors;
}

Matrix Factor::times(const Matrix& b) const {
  Timer timer("Factor:times");
  require(b.rows() == size(), "Factor:times: a Matrix of {} rows expected, got {}", size(), b.shape());
  return lower_times(l_.view<double>(), lower_t_times(l_.view<double>(), b.contiguous(DType::f64)));
}

Matrix Factor::solve(const Matrix& b) const {
  Timer timer("solve");
  require(b.rows() == size(), "solve: a right-hand side of {} rows expected, got {}", size(), b.shape());
  constexpr Int few = 64;  // columns, up to which reading L takes longer than the arithmetic
  Matrix x = b.to(DType::f64);
  if (b.cols() > few) {
    blas::triangular_solve(l_.view<double>(), true, false, x.view<double>());
    blas::triangular_solve(l_.view<double>(), true, true, x.view<double>());
    return x;
  }
  return solve_few(l_.view<double>(), x);
}

}  // namespace kbcd
