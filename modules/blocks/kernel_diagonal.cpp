#include "modules/blocks/kernel_diagonal.hpp"

#include <algorithm>

#include "core/timers.hpp"
#include "modules/blocks/sparse_panels.hpp"

namespace kbcd {
namespace {

// K(x, x) of some of the rows of x, whatever the kernel is of.
std::unique_ptr<PanelSource> square_of(const DataSet& x, const std::shared_ptr<Kernel>& kernel, const Index& rows) {
  if (x.sparse()) {
    Csr some = x.csr().take(rows.values());
    return std::make_unique<SparseKernelPanels>(DataSet::own(some), std::nullopt, kernel, some);
  }
  Matrix some = x.local(rows[0], rows.size()).clone();
  return std::make_unique<KernelPanels>(DataSet::own(some), std::nullopt, kernel, some);
}

}  // namespace

// In squares of a few rows, of which the diagonal is taken: a panel computes any kernel, and is wasteful for one entry.
Matrix kernel_diagonal(const DataSet& x, const std::shared_ptr<Kernel>& kernel) {
  constexpr Int few = 8;
  Timer timer("kernel diagonal");
  Int n = x.local_n(), squares = (n + few - 1) / few;
  Matrix diagonal(n, 1, DType::f64);
  auto work = [&](Int s) {
    Int first = s * few, count = std::min(few, n - first);
    auto source = square_of(x, kernel, Index::range(first, count));
    Matrix square(count, count, x.dtype());
    dispatch(x.dtype(), [&]<class T>() { source->fill<T>(0, square.view<T>()); });
    for (Int i = 0; i < count; ++i) diagonal.set(first + i, 0, square.get(i, i));
  };
  if (!kernel->main_thread_only()) {
    parallel_for(squares, n * few * x.d(), work);
  } else {
    for (Int s = 0; s < squares; ++s) work(s);
  }
  return diagonal;
}

}  // namespace kbcd
