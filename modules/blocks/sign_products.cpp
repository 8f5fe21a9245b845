#include "modules/blocks/sign_products.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/parallel.hpp"

namespace kbcd {

Matrix sign_products(const Matrix& w, const Matrix& a, const Matrix& c, const Matrix& z) {
  require(w.rows() == c.rows() && a.rows() == c.rows() && a.cols() == 1 && w.cols() == z.rows() && c.cols() == z.cols(),
          "sign_products: weights c x m, numbers c x 1, rows c x d and m x d expected, got {}, {}, {} and {}",
          w.shape(), a.shape(), c.shape(), z.shape());
  Matrix weights = w.to(DType::f64), numbers = a.to(DType::f64), rows = c.to(DType::f64), at = z.to(DType::f64);
  Matrix out(z.rows(), z.cols(), DType::f64);
  auto W = weights.view<double>(), A = numbers.view<double>(), C = rows.view<double>(), Z = at.view<double>(),
       O = out.view<double>();
  parallel_for(z.rows(), w.size() * z.cols(), [&](Int i) {
    const double* x = Z.line(i);
    double* sum = O.line(i);
    std::fill_n(sum, C.cols, 0.0);
    for (Int j = 0; j < C.rows; ++j) {
      double weight = W(j, i) * A(j, 0);
      const double* y = C.line(j);
#pragma omp simd
      for (Int e = 0; e < C.cols; ++e) sum[e] += weight * ((x[e] > y[e]) - (x[e] < y[e]));
    }
  });
  return out;
}

}  // namespace kbcd
