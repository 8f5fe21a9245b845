#include "modules/speech/context.hpp"

#include <algorithm>

namespace kbcd::speech {

namespace {

constexpr Int longest_reach = 10000;

}  // namespace

Matrix deltas(const Matrix& x, Int reach) {
  require(reach >= 1 && reach <= longest_reach, "deltas: a reach of 1 to {} frames expected, got {}", longest_reach,
          reach);
  require(x.rows() >= 1, "deltas: at least one frame expected");
  Matrix from = x.contiguous(DType::f64), out = Matrix::zeros(x.rows(), x.cols());
  auto v = from.view<double>(), d = out.view<double>();
  double squares = 0;
  for (Int i = 1; i <= reach; ++i) squares += static_cast<double>(i * i);
  parallel_for(v.rows, v.rows * v.cols * reach, [&](Int t) {
    for (Int i = 1; i <= reach; ++i) {
      const double *after = v.line(std::min(t + i, v.rows - 1)), *before = v.line(std::max<Int>(t - i, 0));
      double weight = static_cast<double>(i) / (2 * squares);
      for (Int j = 0; j < v.cols; ++j) d(t, j) += weight * (after[j] - before[j]);
    }
  });
  return out;
}

Int spliced_cols(const Matrix& x, Int reach) {
  require(reach >= 0 && reach <= longest_reach, "splice: a reach of 0 to {} frames expected, got {}", longest_reach,
          reach);
  return (2 * reach + 1) * x.cols();
}

void splice(const Matrix& x, Int reach, const Matrix& into) {
  Int cols = spliced_cols(x, reach);
  require(into.rows() == x.rows() && into.cols() == cols, "splice: {}x{} expected, got {}", x.rows(), cols,
          into.shape());
  require(!into.transposed(), "splice: cannot write into a transposed view; clone it first");
  Matrix from = x.shares(into) ? x.to(into.dtype()) : x.contiguous(into.dtype());
  dispatch(into.dtype(), [&]<class T>() {
    auto v = from.view<T>(), w = into.view<T>();
    parallel_for(v.rows, w.rows * w.cols, [&](Int t) {
      for (Int i = -reach; i <= reach; ++i)
        std::copy_n(v.line(std::clamp<Int>(t + i, 0, v.rows - 1)), v.cols, w.line(t) + (i + reach) * v.cols);
    });
  });
}

}  // namespace kbcd::speech
