#include "modules/blocks/block.hpp"

#include <omp.h>

#include <algorithm>
#include <list>
#include <mutex>

#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/half.hpp"
#include "core/timers.hpp"
#include "modules/blocks/sparse_panels.hpp"

namespace kbcd {
namespace {

std::list<Block*> kept_blocks;  // those that do not stay, the most recently used last

constexpr Int panel_rows = 336;  // whole groups of tiles
constexpr Int smallest_panel = 24;
constexpr Int square_rows = 120;  // of a panel of a symmetric square
// Of a panel in a transposed product with few columns, which is bound by memory: few enough to be read in streams.
constexpr Int rows_at_once = 32, few_columns = 16;
constexpr Int slab_bytes = Int{128} << 20;  // of f64, enough for a Gram at the speed of long products

// So many rows that `copies` panels of them stay within a part of the budget.
Int rows_within_budget(Int wanted, Int row_bytes, Int copies) {
  Int fit = static_cast<Int>(memory::budget() / 4) / std::max<Int>(1, row_bytes * copies);
  return std::clamp(fit, smallest_panel, wanted);
}

// A panel's room, with rows that do not fall on the same cache lines.
template <class T>
Matrix panel_room(Int rows, Int cols) {
  return Matrix(rows, tiles::spread<T>(cols), dtype_of<T>).col_block(0, cols);
}

// f(i) for i in [0, count), in order on the main thread alone or on all threads.
template <class F>
void each_part(bool main_thread_only, Int count, Int work, F&& f) {
  if (!main_thread_only) return parallel_for(count, work, f);
  for (Int i = 0; i < count; ++i) f(i);
}

}  // namespace

// B' a, summed over panels of rows that any threads bring: f32 within a panel, f64 across panels.
template <class T>
class Block::TransposedSum {
 public:
  TransposedSum(Int cols, const Matrix& a)
      : cols_(cols), a_(a.t().contiguous(dtype_of<T>)), sums_(thread_count()), parts_(thread_count()) {}

  void add(int thread, Int first, View<T> panel) {
    auto &sum = sums_[thread], &part = parts_[thread];
    if (sum.size() == 0) {
      sum = Matrix::zeros(a_.rows(), cols_);
      part = Matrix(a_.rows(), cols_, dtype_of<T>);
    }
    View<T> left = a_.view<T>().cols_from(first, panel.rows), p = part.view<T>();
    thread_local tiles::Rows<T> packed;
    Int step = left.rows <= few_columns ? rows_at_once : panel.rows;
    for (Int i = 0; i < panel.rows; i += step) {
      Int count = std::min(step, panel.rows - i);
      packed.pack(left.cols_from(i, count));
      tiles::multiply(packed, panel.rows_from(i, count), i > 0, p);
    }
    for (Int i = 0; i < p.rows; ++i)
      for (Int j = 0; j < p.cols; ++j) sum.view<double>().line(i)[j] += static_cast<double>(p.line(i)[j]);
  }

  Matrix total() const {
    Matrix total = Matrix::zeros(cols_, a_.rows());
    for (auto& sum : sums_)
      if (sum.size()) kbcd::add(total, 1, sum.t());
    return total;
  }

 private:
  Int cols_;
  Matrix a_;                          // a', so that a panel's rows are one after the other in it
  std::vector<Matrix> sums_, parts_;  // of each thread
};

Block::Block(std::unique_ptr<PanelSource> source, Keep keep) : source_(std::move(source)), keep_(keep) {
  require(!half() || dtype() == DType::f32, "{}: keep = \"f16\" is for f32 data, and this is {}", name(),
          kbcd::name(dtype()));
}

Block::~Block() {
  busy_ = false;
  release();
}

std::size_t Block::bytes() const {
  if (half()) return rows() * cols() * sizeof(std::uint16_t);
  return dispatch(dtype(), [&]<class T>() { return rows() * tiles::spread<T>(cols()) * sizeof(T); });
}

void Block::require_idle() const {
  require(!busy_, "this block is being computed: a kernel or map written in Lua must not use the block it is part of");
}

void Block::release() {
  require_idle();
  if (!has_room_) return;
  if (!stays_) kept_blocks.remove(this);
  memory::unreserve(bytes());
  slab_ = Matrix();
  halves_.reset();
  has_room_ = filled_ = stays_ = false;
}

// Whether there is a place for this block; older blocks that need not stay are forgotten to make room for it.
bool Block::make_room() {
  if (keep_ == Keep::none) return false;
  if (has_room_) {
    if (!stays_)
      kept_blocks.splice(kept_blocks.end(), kept_blocks, std::find(kept_blocks.begin(), kept_blocks.end(), this));
    return true;
  }
  bool wants_to_stay = keep_ != Keep::while_it_fits;
  auto push_out = [] {
    auto idle = std::find_if(kept_blocks.begin(), kept_blocks.end(), [](Block* block) { return !block->busy_; });
    if (idle == kept_blocks.end()) return false;
    (*idle)->release();
    return true;
  };
  while (wants_to_stay && !(stays_ = memory::reserve(bytes(), bytes())) && push_out()) {
  }
  while (!stays_ && !memory::reserve(bytes()))
    if (bytes() > memory::budget() || !push_out()) return false;
  if (!stays_) kept_blocks.push_back(this);
  has_room_ = true;
  if (half())
    halves_ = std::make_unique<Buffer>(bytes());
  else
    slab_ = dispatch(dtype(), [&]<class T>() { return panel_room<T>(rows(), cols()); });
  return true;
}

// Rows [first, first + count), computed if they are not there yet, in `room` unless they are kept as they are.
template <class T>
View<T> Block::panel(Int first, Int count, View<T> room) {
  View<T> to = has_room_ && !half() ? slab_.view<T>().rows_from(first, count) : room.rows_from(0, count);
  if (!filled_) source_->fill<T>(first, to);
  if constexpr (std::is_same_v<T, float>) {
    if (has_room_ && half()) {  // what was packed is what the products see, now and later
      for (Int i = 0; i < count; ++i) {
        auto* halves = static_cast<std::uint16_t*>(halves_->data()) + (first + i) * cols();
        require(filled_ || half::pack(to.line(i), halves, cols()),
                "{}: a value in row {} is larger than f16 holds ({}); keep it in f32", name(), first + i + 1,
                half::largest);
        half::unpack(halves, to.line(i), cols());
      }
    }
  }
  return to;
}

// visit(thread, first, panel) for panels that cover the block, each on one thread, computed before its first
// visit. Panel i is always thread i mod t's, so that sums a thread keeps are the same from run to run.
template <class T, class Visit>
void Block::each_panel(Visit&& visit) {
  require_idle();
  bool kept = make_room();
  int threads = source_->main_thread_only() ? 1 : thread_count();
  Int height = kept ? panel_rows : rows_within_budget(panel_rows, cols() * sizeof(T), threads);
  Int panels = (rows() + height - 1) / height;
  double filling = 0;
  busy_ = true;  // a kernel written in Lua may use another block meanwhile
  std::exception_ptr error;
  std::mutex mutex;
  auto work = [&](int thread, int threads) {
    double seconds = 0;
    try {
      Matrix room = panel_room<T>(kept && !half() ? 0 : std::min(height, rows()), cols());
      for (Int p = thread; p < panels; p += threads) {
        Int first = p * height;
        double start = now();
        View<T> values = panel<T>(first, std::min(height, rows() - first), room.view<T>());
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
  filled_ = kept;
}

// visit(first, slab) for slabs of many rows, one after the other, so that the visitor's BLAS has all threads.
template <class T, class Visit>
void Block::each_slab(Visit&& visit) {
  require_idle();
  bool kept = make_room();
  Int height = rows_within_budget(std::max(panel_rows, slab_bytes / std::max<Int>(1, cols() * 8)), cols() * 8, 1);
  if (height > panel_rows) height -= height % panel_rows;
  Matrix room = panel_room<T>(kept && !half() ? 0 : std::min(height, rows()), cols());
  bool alone = source_->main_thread_only();
  for (Int first = 0; first < rows(); first += height) {
    Int count = std::min(height, rows() - first);
    Int step = alone ? count : std::min(panel_rows, (count - 1) / thread_count() + 1),
        steps = (count + step - 1) / step;
    busy_ = true;
    double start = now();
    try {
      each_part(alone, steps, count * cols() * source_->data().d(), [&](Int p) {
        panel<T>(first + p * step, std::min(step, count - p * step),
                 room.rows() ? room.view<T>().rows_from(p * step, std::min(step, count - p * step)) : room.view<T>());
      });
    } catch (...) {
      busy_ = false;
      release();
      throw;
    }
    busy_ = false;
    if (!filled_) timers::add(source_->name(), now() - start);
    visit(first, room.rows() ? room.view<T>().rows_from(0, count) : slab_.view<T>().rows_from(first, count));
  }
  filled_ = kept;
}

Matrix Block::t_times(const Matrix& a) {
  require(a.rows() == rows(), "block:t() * A: A must have the block's {} local rows, got {}", rows(), a.shape());
  double start = now();
  Matrix sum = factors(a.cols()) ? source_->t_times(a) : dispatch(dtype(), [&]<class T>() {
    TransposedSum<T> sum(cols(), a);
    each_panel<T>([&](int thread, Int first, View<T> panel) { sum.add(thread, first, panel); });
    return sum.total();
  });
  timers::add("block:t()*A", now() - start);
  return sum;
}

Matrix Block::times(const Matrix& d) {
  require(d.rows() == cols(), "block * D: D must have the block's {} columns as rows, got {}", cols(), d.shape());
  double start = now();
  if (factors(d.cols())) {
    Matrix out = source_->times(d);
    timers::add("block*D", now() - start);
    return out;
  }
  Matrix out(rows(), d.cols(), DType::f64);
  dispatch(dtype(), [&]<class T>() {
    tiles::Columns<T> rhs(d.contiguous(dtype()).view<T>());
    each_panel<T>([&](int, Int first, View<T> panel) {
      thread_local tiles::Room<T> room;
      View<T> part{room.at_least(panel.rows * d.cols()), panel.rows, d.cols(), d.cols()};
      tiles::multiply(panel, rhs, part);
      for (Int i = 0; i < panel.rows; ++i) std::copy_n(part.line(i), d.cols(), out.view<double>().line(first + i));
    });
  });
  timers::add("block*D", now() - start);
  return out;
}

Matrix Block::gram(DType precision) {
  return normal(Matrix(rows(), 0, DType::f64), precision).gram;
}

Block::Normal Block::normal(const Matrix& a, DType precision) {
  require(a.rows() == rows(), "block:normal(A): A must have the block's {} local rows, got {}", rows(), a.shape());
  double start = now();
  Matrix g = Matrix::zeros(cols(), cols(), precision);
  Matrix right = dispatch(dtype(), [&]<class T>() {
    TransposedSum<T> sum(cols(), a);
    Matrix wide(0, 0, precision);
    each_slab<T>([&](Int first, View<T> slab) {
      if (a.cols() > 0) {
        // The panels and threads of each_panel, so that B' a is the same as from t_times, to the bit.
        Int panels = (slab.rows + panel_rows - 1) / panel_rows, before = first / panel_rows;
        int threads = source_->main_thread_only() ? 1 : thread_count();
#pragma omp parallel num_threads(threads)
        for (Int p = 0; p < panels; ++p)
          if ((before + p) % threads == omp_get_thread_num())
            sum.add(omp_get_thread_num(), first + p * panel_rows,
                    slab.rows_from(p * panel_rows, std::min(panel_rows, slab.rows - p * panel_rows)));
      }
      dispatch(precision, [&]<class G>() {
        if constexpr (std::is_same_v<T, G>) {
          blas::gram(slab, true, g.view<G>());
        } else {
          if (wide.rows() < slab.rows) wide = Matrix(slab.rows, cols(), precision);
          View<G> converted = wide.view<G>().rows_from(0, slab.rows);
          parallel_for(slab.rows, slab.rows * slab.cols,
                       [&](Int i) { std::copy_n(slab.line(i), slab.cols, converted.line(i)); });
          blas::gram(converted, true, g.view<G>());
        }
      });
    });
    return sum.total();
  });
  blas::mirror(g);
  timers::add("block:gram", now() - start);
  return {g, right};
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
      Matrix line = panel_room<T>(1, cols());
      for (Int i = 0; i < here.size(); ++i) std::copy_n(panel<T>(here[i], 1, line.view<T>()).data, cols(), to.line(i));
      return;
    }
    Timer timer(source_->name());
    Int step = source_->main_thread_only() ? std::max<Int>(1, here.size()) : 64;
    each_part(source_->main_thread_only(), (here.size() + step - 1) / step, mine.size() * x.d(), [&](Int p) {
      Int first = p * step, count = std::min(step, here.size() - first);
      source_->fill_rows<T>({here.values().data() + first, static_cast<std::size_t>(count)},
                            to.rows_from(first, count));
    });
  });
  return comm::allgather_owned(mine, x.layout(), j);
}

Matrix Block::square() const {
  auto source = source_->square();
  require(source != nullptr, "block:square: a KernelBlock expected, this is a {}", name());
  Timer timer("block:square");
  if (source->data().sparse()) return Block(std::move(source), Keep::while_it_fits).dense();
  // Symmetric: each panel up to its last row's own column, and the rest mirrored.
  bool alone = source->main_thread_only();
  Int b = cols(), height = alone ? b : square_rows, panels = (b + height - 1) / height;
  Matrix square(b, b, dtype());
  dispatch(dtype(), [&]<class T>() {
    each_part(alone, panels, b * b * source->data().d(), [&](Int i) {
      Int p = panels - 1 - i, first = p * height, count = std::min(height, b - first);  // the longest first
      source->fill<T>(first, square.view<T>().rows_from(first, count).cols_from(0, first + count));
    });
  });
  blas::mirror(square);
  return square;
}

std::shared_ptr<Block> kernel_block(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                    std::optional<Index> rows, const DataSet& centers, Keep keep) {
  require(columns.size() > 0, "KernelBlock: at least one column expected");
  columns.require_within("KernelBlock", centers.n());
  require(centers.d() == x.d(), "KernelBlock: the centres have {} columns, X has {}", centers.d(), x.d());
  require(centers.sparse() == x.sparse(), "KernelBlock: X and the centres must both be sparse or both be dense");
  if (x.sparse())
    return std::make_shared<Block>(
        std::make_unique<SparseKernelPanels>(x, std::move(rows), std::move(kernel), centers.gather_sparse(columns)),
        keep);
  Matrix own = centers.gather(columns);
  Timer timer("pack centres");
  return std::make_shared<Block>(std::make_unique<KernelPanels>(x, std::move(rows), std::move(kernel), own), keep);
}

std::shared_ptr<Block> random_features_block(const DataSet& x, const Index& features, std::shared_ptr<FeatureMap> map,
                                             std::optional<Index> rows, Keep keep) {
  require(features.size() > 0, "RandomFeaturesBlock: at least one feature expected");
  Timer timer("draw features");
  return std::make_shared<Block>(std::make_unique<FeaturePanels>(x, std::move(rows), std::move(map), features), keep);
}

}  // namespace kbcd
