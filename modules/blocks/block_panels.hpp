// How a product visits the rows of a block: in panels, each on one thread, or in slabs, each on all threads.
//
// Both compute rows that are not kept yet, into the store of a block that is kept, else into a buffer of their own.
#pragma once

#include <omp.h>

#include <algorithm>
#include <mutex>

#include "core/timers.hpp"
#include "modules/blocks/block_store.hpp"
#include "modules/blocks/panel_source.hpp"

namespace kbcd {

constexpr Int panel_rows = 336;  // whole groups of tiles

// f(i) for i in [0, count), in order on the main thread alone or on all threads.
template <class F>
void each_part(bool main_thread_only, Int count, Int work, F&& f) {
  if (!main_thread_only) return parallel_for(count, work, f);
  for (Int i = 0; i < count; ++i) f(i);
}

class BlockPanels {
 public:
  BlockPanels(std::unique_ptr<PanelSource> source, Keep keep)
      : source_(std::move(source)), store_(source_->name(), source_->rows(), source_->cols(), source_->dtype(), keep) {}

  const PanelSource& source() const { return *source_; }
  BlockStore& store() { return store_; }
  const BlockStore& store() const { return store_; }
  int threads() const { return source_->main_thread_only() ? 1 : thread_count(); }

  // Rows [first, first + count), computed if they are not kept yet, in `buffer` unless they are kept in their own type.
  template <class T>
  View<T> panel(Int first, Int count, View<T> buffer);
  // visit(thread, first, panel) for panels that cover the block, each computed before its visit. Panel i always
  // belongs to thread i mod t, so that the sums of a thread are the same from run to run. A visitor that also takes a
  // View<std::uint16_t> gets panels that are kept in f16 as they are.
  template <class T, class Visit>
  void each_panel(Visit&& visit);
  // visit(first, slab) for slabs of many rows, one after the other, so that the visitor's BLAS has all threads.
  template <class T, class Visit>
  void each_slab(Visit&& visit);

 private:
  Int rows() const { return source_->rows(); }
  Int cols() const { return source_->cols(); }
  // A number of rows for which `copies` panels stay within a part of the budget.
  static Int rows_within_budget(Int wanted, Int row_bytes, Int copies) {
    constexpr Int smallest_panel = 24;
    Int fit = static_cast<Int>(memory::budget() / 4) / std::max<Int>(1, row_bytes * copies);
    return std::clamp(fit, smallest_panel, wanted);
  }

  std::unique_ptr<PanelSource> source_;
  BlockStore store_;
};

template <class T>
View<T> BlockPanels::panel(Int first, Int count, View<T> buffer) {
  View<T> to = store_.has_lines() ? store_.lines<T>(first, count) : buffer.rows_from(0, count);
  if (!store_.filled()) source_->fill<T>(first, to);
  if constexpr (std::is_same_v<T, float>) store_.through_halves(first, to);
  return to;
}

template <class T, class Visit>
void BlockPanels::each_panel(Visit&& visit) {
  constexpr bool takes_halves = [] {
    if constexpr (std::is_same_v<T, float>) return std::is_invocable_v<Visit, int, Int, View<std::uint16_t>>;
    return false;
  }();
  bool kept = store_.reserve(), halves = kept && store_.half() && store_.filled();
  int threads = this->threads();
  Int height = kept ? panel_rows : rows_within_budget(panel_rows, cols() * sizeof(T), threads);
  Int panels = (rows() + height - 1) / height;
  double filling = 0;
  std::exception_ptr error;
  std::mutex mutex;
  auto work = [&](int thread, int threads) {
    double seconds = 0;
    try {
      bool needed = !store_.has_lines() && !(takes_halves && halves);
      Matrix buffer = panel_buffer<T>(needed ? std::min(height, rows()) : 0, cols());
      for (Int p = thread; p < panels; p += threads) {
        Int first = p * height;
        Int count = std::min(height, rows() - first);
        if constexpr (takes_halves) {
          if (halves) {
            visit(thread, first, store_.halves(first, count));
            continue;
          }
        }
        double start = now();
        View<T> values = panel<T>(first, count, buffer.view<T>());
        seconds += now() - start;
        visit(thread, first, values);
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
    std::lock_guard lock(mutex);
    filling += seconds / threads;
  };
  {
    BlockStore::Use use(store_);  // a kernel written in Lua may use another block meanwhile
    if (threads == 1) {
      work(0, 1);
    } else {
#pragma omp parallel num_threads(threads)
      work(omp_get_thread_num(), omp_get_num_threads());
    }
  }
  if (error) {
    store_.release();
    std::rethrow_exception(error);
  }
  if (!store_.filled() && rows() > 0) timers::add(source_->name(), filling);
  store_.set_filled(kept);
}

template <class T, class Visit>
void BlockPanels::each_slab(Visit&& visit) {
  constexpr Int slab_bytes = Int{128} << 20;  // of f64, enough for a Gram at the speed of long products
  bool kept = store_.reserve();
  Int height = rows_within_budget(std::max(panel_rows, slab_bytes / std::max<Int>(1, cols() * 8)), cols() * 8, 1);
  if (height > panel_rows) height -= height % panel_rows;
  Matrix buffer = panel_buffer<T>(store_.has_lines() ? 0 : std::min(height, rows()), cols());
  bool alone = source_->main_thread_only();
  for (Int first = 0; first < rows(); first += height) {
    Int count = std::min(height, rows() - first);
    Int step = alone ? count : std::min(panel_rows, (count - 1) / thread_count() + 1),
        steps = (count + step - 1) / step;
    double start = now();
    try {
      BlockStore::Use use(store_);
      each_part(alone, steps, count * cols() * source_->data().d(), [&](Int p) {
        Int at = p * step, here = std::min(step, count - at);
        panel<T>(first + at, here, buffer.rows() ? buffer.view<T>().rows_from(at, here) : buffer.view<T>());
      });
    } catch (...) {
      store_.release();
      throw;
    }
    if (!store_.filled()) timers::add(source_->name(), now() - start);
    visit(first, buffer.rows() ? buffer.view<T>().rows_from(0, count) : store_.lines<T>(first, count));
  }
  store_.set_filled(kept);
}

}  // namespace kbcd
