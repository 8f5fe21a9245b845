#include "modules/blocks/kernel_triangle.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/elementwise.hpp"
#include "core/half.hpp"
#include "modules/blocks/triangle_products.hpp"

namespace kbcd {
namespace {

// visit(thread, i) for i in [0, count): each thread has a range of about the same cost, always the same one, so that
// its sums are the same from run to run. (Two threads that fill neighbouring rows would both clear the pages that they
// share.)
template <class Cost, class Visit>
void each_on_its_thread(bool main_thread_only, Int count, Cost&& cost, Visit&& visit) {
  double total = 0;
  for (Int i = 0; i < count; ++i) total += static_cast<double>(cost(i));
  total = std::max(total, 1.0);
  int threads = main_thread_only ? 1 : thread_count();
  std::exception_ptr error;
  std::mutex mutex;
  auto work = [&](int thread) {
    try {
      double before = 0;
      for (Int i = 0; i < count; ++i) {
        if (std::min(threads - 1, static_cast<int>(before / total * threads)) == thread) visit(thread, i);
        before += static_cast<double>(cost(i));
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  };
  if (threads == 1) {
    work(0);
  } else {
#pragma omp parallel num_threads(threads)
    work(omp_get_thread_num());
  }
  if (error) std::rethrow_exception(error);
}

// While entries are computed: a kernel written in Lua might release the memory that they go to.
class Busy {
 public:
  explicit Busy(bool& busy) : busy_(busy) {
    require_idle(busy);
    busy_ = true;
  }
  ~Busy() { busy_ = false; }
  Busy(const Busy&) = delete;

  static void require_idle(bool busy) {
    require(!busy, "this kernel matrix is being computed: a kernel written in Lua must not use or release it");
  }

 private:
  bool& busy_;
};

}  // namespace

KernelTriangle::KernelTriangle(DataSet x, std::shared_ptr<Kernel> kernel, Index order, const Options& options)
    : x_(std::move(x)),
      kernel_(std::move(kernel)),
      order_(std::move(order)),
      group_tiles_(options.group),
      keep_(options.keep),
      scale_(options.scale) {
  require(options.tile > 0 && options.group > 0, "KernelTriangle: tiles of at least one row expected");
  order_.require_within("KernelTriangle", x_.n());
  order_.require_distinct("KernelTriangle");
  require(order_.size() == x_.n(), "KernelTriangle: all {} rows expected, got {}", x_.n(), order_.size());
  require(keep_ != Keep::f16 || x_.dtype() == DType::f32,
          "KernelTriangle: keep = \"f16\" is for f32 data, and this is {}", name(x_.dtype()));
  own_ = x_.local_rows(order_);
  own_places_ = x_.layout().owned_positions(order_, comm::rank());
  auto before = [&](Int place) {
    return std::lower_bound(own_places_.begin(), own_places_.end(), place) - own_places_.begin();
  };
  for (Int first = 0; first < x_.n(); first += options.tile) {
    Int count = std::min(options.tile, x_.n() - first), own = before(first);
    tiles_.push_back({first, count, own, before(first + count) - own, tiles() / group_tiles_, {}, nullptr});
  }
  filled_.resize(groups());
  reserve_groups();
}

KernelTriangle::~KernelTriangle() {
  busy_ = false;
  release();
}

Index KernelTriangle::tile(Int t) const {
  return order_.slice(tiles_[t].first, tiles_[t].count);
}

std::size_t KernelTriangle::bytes(Int group) const {
  std::size_t sum = 0;
  for (Int t = first_tile(group); t <= last_tile(group); ++t) {
    Int rows = tiles_[t].own_first + tiles_[t].own_count, width = tiles_[t].count;
    sum += keep_ == Keep::f16
               ? rows * width * sizeof(std::uint16_t)
               : dispatch(x_.dtype(), [&]<class T>() { return rows * tiles::row_stride<T>(width) * sizeof(T); });
  }
  return sum;
}

// As many groups as fit the budget on every rank, and one more of the size of each.
void KernelTriangle::reserve_groups() {
  if (reserved_ || keep_ == Keep::none) return;
  Int fit = 0;
  while (fit < groups() && memory::reserve(bytes(fit), bytes(fit))) ++fit;
  kept_ = static_cast<Int>(comm::allreduce(static_cast<double>(fit), comm::Reduction::min));
  for (Int g = kept_; g < fit; ++g) memory::unreserve(bytes(g));
  reserved_ = true;
}

void KernelTriangle::release() {
  Busy::require_idle(busy_);
  for (auto& tile : tiles_) {
    tile.slab = Matrix();
    tile.halves.reset();
  }
  if (reserved_)
    for (Int g = 0; g < kept_; ++g) memory::unreserve(bytes(g));
  reserved_ = false;
  std::fill(filled_.begin(), filled_.end(), false);
}

Int KernelTriangle::entries() const {
  Int sum = 0;
  for (auto& tile : tiles_)
    if (filled_[tile.group]) sum += (tile.own_first + tile.own_count) * tile.count;
  return sum;
}

// visit(thread, first, values): this rank's rows from `first`, in the order, times the columns of the group's tiles,
// the last tile's first; of rows of the group itself only the columns up to their own tile.
template <class T, class Visit>
void KernelTriangle::compute(Int group, Visit&& visit) {
  Int last = last_tile(group), width = tiles_[last].first + tiles_[last].count - tiles_[first_tile(group)].first;
  std::vector<Index> columns;
  for (Int t = last; t >= first_tile(group); --t) columns.push_back(tile(t));
  Index centers = Index::concatenate(columns), rows = order_.slice(0, tiles_[last].first + tiles_[last].count);
  auto source = kernel_source(x_, centers, kernel_, rows, x_);
  if (scale_) source->set_scales(scale_, comm::gather_rows(*scale_, x_.layout(), centers));

  struct Panel {
    Int first, count, cols;
  };
  std::vector<Panel> panels;
  auto cut = [&](Int first, Int end, Int cols) {
    for (; first < end; first += panel_rows) panels.push_back({first, std::min(panel_rows, end - first), cols});
  };
  cut(0, tiles_[first_tile(group)].own_first, width);
  for (Int s = first_tile(group); s <= last; ++s)
    cut(tiles_[s].own_first, tiles_[s].own_first + tiles_[s].own_count,
        x_.sparse() ? width : tiles_[last].first + tiles_[last].count - tiles_[s].first);
  std::reverse(panels.begin(), panels.end());  // the short ones first

  bool alone = source->main_thread_only();
  std::vector<Matrix> buffers(alone ? 1 : thread_count());
  std::vector<double> seconds(buffers.size());
  auto cost = [&](Int i) { return panels[i].count * panels[i].cols; };
  each_on_its_thread(alone, static_cast<Int>(panels.size()), cost, [&](int thread, Int i) {
    auto& buffer = buffers[thread];
    auto& panel = panels[i];
    double start = now();
    if (buffer.size() == 0) buffer = panel_buffer<T>(std::min<Int>(panel_rows, own_.size()), width);
    auto values = buffer.view<T>().rows_from(0, panel.count).cols_from(0, panel.cols);
    source->fill<T>(panel.first, values);
    seconds[thread] += now() - start;
    visit(thread, panel.first, values);
  });
  timers::add(source->name(),
              std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(buffers.size()));
}

// Computes and stores the tiles of a group.
template <class T>
void KernelTriangle::fill(Int group) {
  try {
    for (Int t = first_tile(group); t <= last_tile(group); ++t) {
      auto& tile = tiles_[t];
      Int rows = tile.own_first + tile.own_count;
      if (keep_ == Keep::f16)
        tile.halves = std::make_unique<Buffer>(rows * tile.count * sizeof(std::uint16_t));
      else
        tile.slab = panel_buffer<T>(rows, tile.count);
    }
    compute<T>(group, [&](int, Int first, View<T> values) {
      Int column = 0;
      for (Int t = last_tile(group); t >= first_tile(group) && column < values.cols; column += tiles_[t--].count) {
        auto& tile = tiles_[t];
        for (Int i = 0; i < values.rows && first + i < tile.own_first + tile.own_count; ++i) {
          const T* from = values.line(i) + column;
          if (keep_ != Keep::f16) {
            std::copy_n(from, tile.count, tile.slab.template view<T>().line(first + i));
          } else if constexpr (std::is_same_v<T, float>) {
            auto* to = static_cast<std::uint16_t*>(tile.halves->data()) + (first + i) * tile.count;
            require(half::pack(from, to, tile.count),
                    "KernelMatrix: a value is larger than f16 holds ({}); keep = \"exact\" holds it", half::largest);
          }
        }
      }
    });
  } catch (...) {
    for (Int t = first_tile(group); t <= last_tile(group); ++t) {
      tiles_[t].slab = Matrix();
      tiles_[t].halves.reset();
    }
    throw;
  }
  filled_[group] = true;
}

// visit(K(s, u)), this rank's rows of a tile that is kept: a View of T, or of std::uint16_t where it is kept in f16.
template <class T, class Visit>
void KernelTriangle::with_stored(Int s, Int u, Visit&& visit) const {
  auto& tile = tiles_[u];
  Int first = tiles_[s].own_first, count = tiles_[s].own_count;
  if (keep_ != Keep::f16) return visit(tile.slab.view<T>().rows_from(first, count));
  if constexpr (std::is_same_v<T, float>)
    visit(View<std::uint16_t>{static_cast<std::uint16_t*>(tile.halves->data()) + first * tile.count, count, tile.count,
                              tile.count});
}

template <class T>
Matrix KernelTriangle::product(const Matrix& all, const std::vector<Int>& wanted) {
  Products<T> products(*this, all, wanted);
  std::vector<Piece> in_memory;
  for (Int group = 0; group < groups(); ++group) {
    std::vector<std::vector<Piece>> pieces(last_tile(group) + 1);  // by s
    bool any = false;
    for (Int u = first_tile(group); u <= last_tile(group); ++u)
      for (Int s = 0; s <= u; ++s) {
        Piece piece = products.piece(s, u);
        if (!piece.direct && !piece.transposed) continue;
        any = true;
        if (group < kept_)
          in_memory.push_back(piece);
        else
          pieces[s].push_back(piece);
      }
    if (!any) continue;
    if (group < kept_) {
      if (!filled_[group]) fill<T>(group);
      continue;
    }
    compute<T>(group, [&](int thread, Int first, View<T> values) {
      // The part of each tile s in these rows.
      Int end = first + values.rows;
      for (Int s = 0; s <= last_tile(group); ++s) {
        Int from = std::max(first, tiles_[s].own_first), to = std::min(end, tiles_[s].own_first + tiles_[s].own_count);
        if (from >= to) continue;
        for (auto& piece : pieces[s]) {
          Int column = tiles_[last_tile(group)].first + tiles_[last_tile(group)].count - tiles_[piece.u].first -
                       tiles_[piece.u].count;
          products.add(thread, piece, from - tiles_[s].own_first,
                       values.rows_from(from - first, to - from).cols_from(column, tiles_[piece.u].count), false);
        }
      }
    });
  }
  auto cost = [&](Int i) { return tiles_[in_memory[i].s].own_count; };
  each_on_its_thread(false, static_cast<Int>(in_memory.size()), cost, [&](int thread, Int i) {
    auto& piece = in_memory[i];
    if (tiles_[piece.s].own_count > 0)
      with_stored<T>(piece.s, piece.u, [&](auto values) { products.add(thread, piece, 0, values, true); });
  });
  return products.total();
}

Matrix KernelTriangle::product(const Matrix& v, const std::vector<Int>& wanted) {
  require(v.rows() == rows(), "KernelMatrix * V: V must have {} rows, got {}", rows(), v.shape());
  Busy busy(busy_);
  reserve_groups();
  Matrix all = comm::allgather(v.contiguous(DType::f64));
  return dispatch(x_.dtype(), [&]<class T>() { return product<T>(all, wanted); });
}

Matrix KernelTriangle::times(const Matrix& v) {
  Timer timer("triangle*V");
  std::vector<Int> all(tiles());
  std::iota(all.begin(), all.end(), 0);
  Matrix sum = product(v, all), out(rows(), v.cols(), DType::f64);
  comm::allreduce({sum});
  for (Int i = 0; i < own_.size(); ++i)
    for (Int j = 0; j < v.cols(); ++j) out.view<double>()(own_[i], j) = sum.view<double>()(own_places_[i], j);
  return out;
}

std::vector<Int> KernelTriangle::checked(const Index& tiles) const {
  tiles.require_within("KernelTriangle: tiles", this->tiles());
  tiles.require_distinct("KernelTriangle: tiles");
  return tiles.values();
}

Matrix KernelTriangle::rows_times(const Index& tiles, const Matrix& v) {
  Timer timer("triangle rows*V");
  return product(v, checked(tiles));
}

Matrix KernelTriangle::square(const Index& tiles) {
  require(stays(), "KernelTriangle: square: the kernel matrix does not fit the memory budget");
  Timer timer("triangle square");
  Busy busy(busy_);
  auto list = checked(tiles);
  std::vector<Int> first(this->tiles(), -1);
  Int size = 0;
  for (Int t : list) first[t] = std::exchange(size, size + tiles_[t].count);
  return dispatch(x_.dtype(), [&]<class T>() {
    for (Int t : list)
      if (!filled_[tiles_[t].group]) fill<T>(tiles_[t].group);
    Matrix out = comm::size() == 1 ? Matrix(size, size, x_.dtype()) : Matrix::zeros(size, size, x_.dtype());
    auto to = out.view<T>();
    Int count = static_cast<Int>(list.size());
    parallel_for(count * count, size * size, [&](Int i) {
      Int s = list[i / count], u = list[i % count];
      if (s > u) return;
      with_stored<T>(s, u, [&](auto kept) {
        View<T> values = converted(kept);
        for (Int r = 0; r < values.rows; ++r) {
          Int row = first[s] + own_places_[tiles_[s].own_first + r] - tiles_[s].first;
          std::copy_n(values.line(r), values.cols, to.line(row) + first[u]);
          for (Int c = 0; s != u && c < values.cols; ++c) to(first[u] + c, row) = values.line(r)[c];
        }
      });
    });
    return out;
  });
}

}  // namespace kbcd
