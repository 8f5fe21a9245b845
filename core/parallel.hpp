// Loops over rows on the one OpenMP pool that OpenBLAS uses too. Inside such a loop BLAS calls run on one
// thread.
#pragma once

#include <omp.h>

#include <cstdint>
#include <exception>
#include <mutex>

namespace kbcd {

using Int = std::int64_t;

inline int thread_count() {
  return omp_get_max_threads();
}

// Calls f(i) for i in [0, count), on all threads if there is enough work (`work`: elementary operations in total).
template <class F>
void parallel_for(Int count, Int work, F&& f) {
  constexpr Int worth_it = 1 << 15;
  if (work < worth_it || count < 2 || omp_in_parallel() || thread_count() == 1) {
    for (Int i = 0; i < count; ++i) f(i);
    return;
  }
  std::exception_ptr error;
  std::mutex mutex;
#pragma omp parallel for schedule(dynamic, 1 + count / (16 * omp_get_max_threads()))
  for (Int i = 0; i < count; ++i) {
    try {
      f(i);
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace kbcd
