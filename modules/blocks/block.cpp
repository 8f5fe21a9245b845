#include "modules/blocks/block.hpp"

#include "core/blas.hpp"
#include "modules/blocks/byte_panels.hpp"
#include "modules/blocks/panel_products.hpp"
#include "modules/blocks/sparse_panels.hpp"

namespace kbcd {

void Block::require_rows(const char* what, const Matrix& a) const {
  require(a.rows() == rows(), "{}: A must have the block's {} local rows, got {}", what, rows(), a.shape());
}

void Block::require_cols(const char* what, const Matrix& d) const {
  require(d.rows() == cols(), "{}: D must have the block's {} columns as rows, got {}", what, cols(), d.shape());
}

Matrix Block::t_times(const Matrix& a) {
  require_rows("block:t() * A", a);
  if (all_zero(a)) {
    panels_.store().zero_product();
    return Matrix::zeros(cols(), a.cols());
  }
  Timer timer("block:t()*A");
  return factors(a.cols()) ? source().t_times(a) : dispatch(dtype(), [&]<class T>() {
    TransposedSum<T> sum(cols(), a);
    panels_.each_panel<T>([&](int thread, Int first, auto panel) { sum.add(thread, first, panel); });
    return sum.total();
  });
}

Matrix Block::times(const Matrix& d) {
  require_cols("block * D", d);
  if (all_zero(d)) return Matrix::zeros(rows(), d.cols());
  Timer timer("block*D");
  return factors(d.cols()) ? source().times(d) : dispatch(dtype(), [&]<class T>() {
    RowProducts<T> products(rows(), d);
    panels_.each_panel<T>([&](int, Int first, auto panel) { products.add(first, panel); });
    return products.total();
  });
}

Block::Both Block::both(const Matrix& d, const Matrix& a) {
  require_cols("block:both(D, A)", d);
  require_rows("block:both(D, A)", a);
  if (factors(d.cols() + a.cols()) || all_zero(d) || all_zero(a)) return {times(d), t_times(a)};
  Timer timer("block:both");
  return dispatch(dtype(), [&]<class T>() {
    RowProducts<T> products(rows(), d);
    TransposedSum<T> sum(cols(), a);
    panels_.each_panel<T>([&](int thread, Int first, auto panel) {
      products.add(first, panel);
      sum.add(thread, first, panel);
    });
    return Both{products.total(), sum.total()};
  });
}

Matrix Block::gram(DType precision) {
  return normal(Matrix(rows(), 0, DType::f64), precision).gram;
}

Block::Normal Block::normal(const Matrix& a, DType precision) {
  require_rows("block:normal(A)", a);
  Timer timer("block:gram");
  Matrix g = Matrix::zeros(cols(), cols(), precision);
  Matrix right = dispatch(dtype(), [&]<class T>() {
    TransposedSum<T> sum(cols(), a);
    Matrix wide(0, 0, precision);
    panels_.each_slab<T>([&](Int first, View<T> slab) {
      if (a.cols() > 0) {
        // The panels and threads of each_panel, so that B' a is the same as from t_times, to the bit.
        Int panels = (slab.rows + panel_rows - 1) / panel_rows, before = first / panel_rows;
        int threads = panels_.threads();
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
  return {g, right};
}

Matrix Block::dense() {
  Timer timer("block:dense");
  Matrix out(rows(), cols(), dtype());
  dispatch(dtype(), [&]<class T>() {
    panels_.each_panel<T>([&](int, Int first, View<T> panel) {
      for (Int i = 0; i < panel.rows; ++i) std::copy_n(panel.line(i), panel.cols, out.view<T>().line(first + i));
    });
  });
  return out;
}

Matrix Block::dense(Int first, Int count) {
  require(first >= 0 && count >= 0 && first + count <= rows(), "block:dense: rows within 1..{} expected, got {}..{}",
          rows(), first + 1, first + count);
  Timer timer("block:dense");
  Matrix out(count, cols(), dtype());
  bool alone = source().main_thread_only();
  Int step = alone ? std::max<Int>(1, count) : 64;
  bool there = kept() && panels_.store().reserve();
  dispatch(dtype(), [&]<class T>() {
    each_part(alone, (count + step - 1) / step, out.size() * (there ? 1 : source().data().d()), [&](Int p) {
      View<T> to = out.view<T>().rows_from(p * step, std::min(step, count - p * step));
      if (!there) return source().fill<T>(first + p * step, to);
      View<T> from = panels_.panel<T>(first + p * step, to.rows, to);
      for (Int i = 0; i < to.rows && from.data != to.data; ++i) std::copy_n(from.line(i), cols(), to.line(i));
    });
  });
  return out;
}

Matrix Block::rows(const Index& j) {
  require(source().has_all_rows(),
          "block:rows: this block was made with {{rows = …}}; make one with the rows you want");
  Timer timer("block:rows");
  auto& x = source().data();
  Index here = x.local_rows(j);
  Matrix mine(here.size(), cols(), dtype());
  dispatch(dtype(), [&]<class T>() {
    auto to = mine.view<T>();
    if (kept() && panels_.store().reserve()) {
      Matrix line = panel_buffer<T>(1, cols());
      for (Int i = 0; i < here.size(); ++i)
        std::copy_n(panels_.panel<T>(here[i], 1, line.view<T>()).data, cols(), to.line(i));
      return;
    }
    Timer timer(source().name());
    Int step = source().main_thread_only() ? std::max<Int>(1, here.size()) : 64;
    each_part(source().main_thread_only(), (here.size() + step - 1) / step, mine.size() * x.d(), [&](Int p) {
      Int first = p * step, count = std::min(step, here.size() - first);
      source().fill_rows<T>({here.values().data() + first, static_cast<std::size_t>(count)},
                            to.rows_from(first, count));
    });
  });
  return comm::allgather_owned(mine, x.layout(), j);
}

Matrix Block::square() const {
  auto square_source = source().square();
  require(square_source != nullptr, "block:square: a KernelBlock expected, this is a {}", name());
  Timer timer("block:square");
  if (square_source->data().sparse()) return Block(std::move(square_source), Keep::while_it_fits).dense();
  // Symmetric: each panel up to its last row's own column, and the rest mirrored.
  constexpr Int square_rows = 120;
  bool alone = square_source->main_thread_only();
  Int b = cols(), height = alone ? b : square_rows, panels = (b + height - 1) / height;
  Matrix square(b, b, dtype());
  dispatch(dtype(), [&]<class T>() {
    each_part(alone, panels, b * b * square_source->data().d(), [&](Int i) {
      Int p = panels - 1 - i, first = p * height, count = std::min(height, b - first);  // the longest first
      square_source->fill<T>(first, square.view<T>().rows_from(first, count).cols_from(0, first + count));
    });
  });
  blas::mirror(square);
  return square;
}

namespace {

std::shared_ptr<Block> with_options(std::unique_ptr<PanelSource> source, const BlockOptions& options) {
  source->set_scales(options.row_scale, options.column_scale);
  return std::make_shared<Block>(std::move(source), options.keep);
}

}  // namespace

std::unique_ptr<PanelSource> kernel_source(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                           std::optional<Index> rows, const DataSet& centers) {
  require(columns.size() > 0, "KernelBlock: at least one column expected");
  columns.require_within("KernelBlock", centers.n());
  require(centers.d() == x.d(), "KernelBlock: the centres have {} columns, X has {}", centers.d(), x.d());
  require(centers.sparse() == x.sparse(), "KernelBlock: X and the centres must both be sparse or both be dense");
  if (x.sparse())
    return std::make_unique<SparseKernelPanels>(x, std::move(rows), std::move(kernel), centers.gather_sparse(columns));
  if (BytePanels::suit(x, *kernel, centers)) {
    ByteMatrix own = centers.gather_bytes(columns);
    Timer timer("pack centres");
    return std::make_unique<BytePanels>(x, std::move(rows), std::move(kernel), own);
  }
  Matrix own = centers.gather(columns);
  Timer timer("pack centres");
  return std::make_unique<KernelPanels>(x, std::move(rows), std::move(kernel), own);
}

std::shared_ptr<Block> kernel_block(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                    std::optional<Index> rows, const DataSet& centers, const BlockOptions& options) {
  return with_options(kernel_source(x, columns, std::move(kernel), std::move(rows), centers), options);
}

std::shared_ptr<Block> random_features_block(const DataSet& x, const Index& features, std::shared_ptr<FeatureMap> map,
                                             std::optional<Index> rows, const BlockOptions& options) {
  require(features.size() > 0, "RandomFeaturesBlock: at least one feature expected");
  Timer timer("draw features");
  return with_options(std::make_unique<FeaturePanels>(x, std::move(rows), std::move(map), features), options);
}

}  // namespace kbcd
