#include "modules/solve/pivots.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"

namespace kbcd {

Index draw_pivots(const Matrix& weights, const Matrix& u) {
  require(weights.rows() >= 1 && weights.cols() == 1 && u.cols() >= 1,
          "draw_pivots: weights of one column and uniform numbers expected, got {} and {}", weights.shape(), u.shape());
  Matrix whole = weights.contiguous(DType::f64);
  const double* w = whole.view<double>().data;
  std::vector<double> sums(static_cast<std::size_t>(weights.rows()));
  double total = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = total += w[i];
  std::vector<Int> rows;
  for (Int t = 0; t < u.rows(); ++t) {
    auto found = std::upper_bound(sums.begin(), sums.end() - 1, u.get(t, 0) * total);
    rows.push_back(found - sums.begin());
  }
  return Index(std::move(rows));
}

Index accept_pivots(const Matrix& h, const Matrix& d, const Matrix& u) {
  Int b = h.rows();
  require(h.cols() == b && h.dtype() == DType::f64 && d.rows() == b && d.cols() == 1 && u.rows() == b && u.cols() == 2,
          "accept_pivots: b x b of f64, b x 1 and b x 2 expected, got {} of {}, {} and {}", h.shape(), name(h.dtype()),
          d.shape(), u.shape());
  auto view = h.view<double>();
  std::vector<Int> accepted;
  for (Int j = 0; j < b; ++j) {
    double pivot = view(j, j);
    if (!(pivot > 0) || !(u.get(j, 1) * d.get(j, 0) < pivot)) continue;
    accepted.push_back(j);
    double root = std::sqrt(pivot);
    for (Int i = j; i < b; ++i) view(i, j) /= root;
    for (Int i = j + 1; i < b; ++i) {
      double left = view(i, j);
      for (Int k = j + 1; k <= i; ++k) view(i, k) -= left * view(k, j);
    }
  }
  return Index(std::move(accepted));
}

}  // namespace kbcd
