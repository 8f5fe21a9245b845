// Products with the linear kernel of sparse rows, K = X Cᵀ, without its entries: K d = X (Cᵀd) and Kᵀa = C (Xᵀa).
#include <algorithm>

#include "modules/blocks/sparse_panels.hpp"

namespace kbcd {

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
