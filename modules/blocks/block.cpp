#include "modules/blocks/block.hpp"

#include <omp.h>

#include <algorithm>
#include <list>
#include <mutex>

#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/timers.hpp"
#include "modules/blocks/sparse_panels.hpp"

namespace kbcd {
namespace {

std::list<Block*> kept_blocks;  // the most recently used last
std::size_t kept_bytes = 0;

constexpr Int panel_rows = 512;
constexpr Int smallest_panel = 16;

// So many rows that `copies` panels of them stay within a part of the budget.
Int rows_within_budget(Int wanted, Int row_bytes, Int copies) {
  Int fit = static_cast<Int>(memory::budget() / 4) / std::max<Int>(1, row_bytes * copies);
  return std::clamp(fit, smallest_panel, wanted);
}

// to += from
template <class T>
void accumulate(View<double> to, View<T> from) {
  for (Int i = 0; i < to.rows; ++i)
    for (Int j = 0; j < to.cols; ++j) to.line(i)[j] += static_cast<double>(from.line(i)[j]);
}

}  // namespace

Block::~Block() {
  busy_ = false;
  release();
}

void Block::require_idle() const {
  require(!busy_, "this block is being computed: a kernel or map written in Lua must not use the block it is part of");
}

void Block::release() {
  require_idle();
  if (!has_slab_) return;
  kept_blocks.remove(this);
  kept_bytes -= bytes();
  slab_ = Matrix();
  has_slab_ = filled_ = false;
}

// Whether there is a slab for this block; older blocks are forgotten to make room for it.
bool Block::make_room() {
  if (has_slab_) {
    kept_blocks.remove(this);
    kept_blocks.push_back(this);
    return true;
  }
  std::size_t budget = memory::budget();
  if (bytes() > budget) return false;
  while (kept_bytes + bytes() > budget) {
    auto idle = std::find_if(kept_blocks.begin(), kept_blocks.end(), [](Block* block) { return !block->busy_; });
    if (idle == kept_blocks.end()) return false;
    (*idle)->release();
  }
  slab_ = Matrix(rows(), cols(), dtype());
  has_slab_ = true;
  kept_bytes += bytes();
  kept_blocks.push_back(this);
  return true;
}

// visit(thread, first, panel) for panels that cover the block, each on one thread, computed before its first
// visit. Panel i is always thread i mod t's, so that sums a thread keeps are the same from run to run.
template <class T, class Visit>
void Block::each_panel(Visit&& visit) {
  require_idle();
  bool keep = make_room();
  int threads = source_->main_thread_only() ? 1 : thread_count();
  Int height = keep ? panel_rows : rows_within_budget(panel_rows, cols() * sizeof(T), threads);
  Int panels = (rows() + height - 1) / height;
  double filling = 0;
  busy_ = true;  // a kernel written in Lua may use another block meanwhile
  std::exception_ptr error;
  std::mutex mutex;
  auto work = [&](int thread, int threads) {
    double seconds = 0;
    try {
      Matrix room(keep ? 0 : std::min(height, rows()), cols(), dtype_of<T>);
      for (Int p = thread; p < panels; p += threads) {
        Int first = p * height, count = std::min(height, rows() - first);
        View<T> panel = keep ? slab_.view<T>().rows_from(first, count) : room.view<T>().rows_from(0, count);
        if (!filled_) {
          double start = now();
          source_->fill<T>(first, panel);
          seconds += now() - start;
        }
        visit(thread, first, panel);
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
    std::lock_guard lock(mutex);
    filling += seconds / threads;
  };
  if (threads == 1) {
    work(0, 1);
  } else {
#pragma omp parallel num_threads(threads)
    work(omp_get_thread_num(), omp_get_num_threads());
  }
  busy_ = false;
  if (error) {
    release();
    std::rethrow_exception(error);
  }
  if (!filled_ && rows() > 0) timers::add(source_->name(), filling);
  filled_ = keep;
}

void Block::fill_now() {
  if (!make_room() || filled_) return;
  dispatch(dtype(), [&]<class T>() { each_panel<T>([](int, Int, View<T>) {}); });
}

// visit(first, slab) for slabs of many rows, one after the other, so that the visitor's BLAS has all threads.
template <class T, class Visit>
void Block::each_slab(Int height, Visit&& visit) {
  require_idle();
  fill_now();
  if (filled_) {
    for (Int first = 0; first < rows(); first += height)
      visit(slab_.view<T>().rows_from(first, std::min(height, rows() - first)));
    return;
  }
  height = rows_within_budget(height, cols() * sizeof(T), 1);
  Matrix room(std::min(height, rows()), cols(), dtype());
  for (Int first = 0; first < rows(); first += height) {
    View<T> slab = room.view<T>().rows_from(0, std::min(height, rows() - first));
    {
      Timer timer(source_->name());
      Int step = source_->main_thread_only() ? height : std::min<Int>(panel_rows, (slab.rows - 1) / thread_count() + 1);
      auto fill = [&](Int p) {
        source_->fill<T>(first + p * step, slab.rows_from(p * step, std::min(step, slab.rows - p * step)));
      };
      Int steps = (slab.rows + step - 1) / step;
      if (source_->main_thread_only())
        for (Int p = 0; p < steps; ++p) fill(p);
      else
        parallel_for(steps, slab.rows * slab.cols * source_->data().d(), fill);
    }
    visit(slab);
  }
}

Matrix Block::t_times(const Matrix& a) {
  require(a.rows() == rows(), "block:t() * A: A must have the block's {} local rows, got {}", rows(), a.shape());
  double start = now();
  Matrix sum = Matrix::zeros(cols(), a.cols());
  dispatch(dtype(), [&]<class T>() {
    Matrix rhs = a.contiguous(dtype());
    std::vector<Matrix> sums(thread_count()), parts(thread_count());
    each_panel<T>([&](int thread, Int first, View<T> panel) {
      if (sums[thread].size() == 0) {
        sums[thread] = Matrix::zeros(cols(), a.cols());
        parts[thread] = Matrix(cols(), a.cols(), dtype());
      }
      // f32 within the panel, f64 across panels
      blas::gemm(T(1), panel.t(), rhs.view<T>().rows_from(first, panel.rows), false, parts[thread].view<T>());
      accumulate(sums[thread].view<double>(), parts[thread].view<T>());
    });
    for (auto& part : sums)
      if (part.size()) add(sum, 1, part);
  });
  timers::add("block:t()*A", now() - start);
  return sum;
}

Matrix Block::times(const Matrix& d) {
  require(d.rows() == cols(), "block * D: D must have the block's {} columns as rows, got {}", cols(), d.shape());
  double start = now();
  Matrix out(rows(), d.cols(), DType::f64);
  dispatch(dtype(), [&]<class T>() {
    Matrix rhs = d.contiguous(dtype());
    each_panel<T>([&](int, Int first, View<T> panel) {
      Matrix part(panel.rows, d.cols(), dtype());
      blas::gemm(T(1), panel, rhs.view<T>(), false, part.view<T>());
      out.row_block(first, panel.rows).copy_from(part);
    });
  });
  timers::add("block*D", now() - start);
  return out;
}

Matrix Block::gram(DType precision) {
  double start = now();
  Matrix g = Matrix::zeros(cols(), cols(), precision);
  constexpr Int slab_bytes = Int{64} << 20;
  Int height = rows_within_budget(std::max(panel_rows, slab_bytes / std::max<Int>(1, cols() * 8)), cols() * 8, 1);
  dispatch(dtype(), [&]<class T>() {
    dispatch(precision, [&]<class G>() {
      if constexpr (std::is_same_v<T, G>) {
        each_slab<T>(height, [&](View<T> slab) { blas::gram(slab, true, g.view<T>()); });
      } else {
        Matrix wide(std::min(height, std::max<Int>(rows(), 1)), cols(), precision);
        each_slab<T>(height, [&](View<T> slab) {
          View<G> converted = wide.view<G>().rows_from(0, slab.rows);
          parallel_for(slab.rows, slab.rows * slab.cols,
                       [&](Int i) { std::copy_n(slab.line(i), slab.cols, converted.line(i)); });
          blas::gram(converted, true, g.view<G>());
        });
      }
    });
  });
  blas::mirror(g);
  timers::add("block:gram", now() - start);
  return g;
}

Matrix Block::dense() {
  Matrix out(rows(), cols(), dtype());
  dispatch(dtype(), [&]<class T>() {
    each_panel<T>([&](int, Int first, View<T> panel) {
      for (Int i = 0; i < panel.rows; ++i) std::copy_n(panel.line(i), panel.cols, out.view<T>().line(first + i));
    });
  });
  return out;
}

Matrix Block::rows(const Index& j) {
  require(source_->has_all_rows(),
          "block:rows: this block was made with {{rows = …}}; make one with the rows you want");
  auto& x = source_->data();
  Index here = x.local_rows(j);
  Matrix mine(here.size(), cols(), dtype());
  dispatch(dtype(), [&]<class T>() {
    auto to = mine.view<T>();
    if (filled_ && make_room()) {
      for (Int i = 0; i < here.size(); ++i) std::copy_n(slab_.view<T>().line(here[i]), cols(), to.line(i));
      return;
    }
    Timer timer(source_->name());
    Int step = source_->main_thread_only() ? std::max<Int>(1, here.size()) : 64,
        steps = (here.size() + step - 1) / step;
    auto fill = [&](Int p) {
      Int first = p * step, count = std::min(step, here.size() - first);
      source_->fill_rows<T>({here.values().data() + first, static_cast<std::size_t>(count)},
                            to.rows_from(first, count));
    };
    if (source_->main_thread_only())
      for (Int p = 0; p < steps; ++p) fill(p);
    else
      parallel_for(steps, mine.size() * x.d(), fill);
  });
  return comm::allgather_owned(mine, x.layout(), j);
}

std::shared_ptr<Block> kernel_block(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                    std::optional<Index> rows, const DataSet& centers) {
  require(columns.size() > 0, "KernelBlock: at least one column expected");
  columns.require_within("KernelBlock", centers.n());
  require(centers.d() == x.d(), "KernelBlock: the centres have {} columns, X has {}", centers.d(), x.d());
  require(centers.sparse() == x.sparse(), "KernelBlock: X and the centres must both be sparse or both be dense");
  if (x.sparse())
    return std::make_shared<Block>(
        std::make_unique<SparseKernelPanels>(x, std::move(rows), std::move(kernel), centers.gather_sparse(columns)));
  return std::make_shared<Block>(
      std::make_unique<KernelPanels>(x, std::move(rows), std::move(kernel), centers.gather(columns)));
}

std::shared_ptr<Block> random_features_block(const DataSet& x, const Index& features, std::shared_ptr<FeatureMap> map,
                                             std::optional<Index> rows) {
  require(features.size() > 0, "RandomFeaturesBlock: at least one feature expected");
  return std::make_shared<Block>(std::make_unique<FeaturePanels>(x, std::move(rows), std::move(map), features));
}

}  // namespace kbcd
