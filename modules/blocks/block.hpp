// Block: the n x b operator that KernelBlock and RandomFeaturesBlock return; each rank holds its own rows.
//
// The first product computes the block. It is kept in memory if it fits the budget, and later products read it; a block
// that does not fit is computed again, in panels of rows, for each product. The result is the same. A block that is
// multiplied only once is best not kept: its panels then stay in cache. Where the source can multiply without the
// entries and that is cheaper (a linear kernel of sparse rows and few columns), a block that is neither kept nor to
// stay is not computed at all.
//
// A product with 0 computes nothing; a block whose first product was B' 0 is not kept by its next product,
// since it is likely used once, as in the first epoch of a descent from 0.
//
// (block_store.hpp: which blocks are kept; block_panels.hpp: how products visit their rows.)
#pragma once

#include <memory>

#include "modules/blocks/block_panels.hpp"

namespace kbcd {

class Block {
 public:
  Block(std::unique_ptr<PanelSource> source, Keep keep) : panels_(std::move(source), keep) {}

  Int rows() const { return source().rows(); }
  Int cols() const { return source().cols(); }
  DType dtype() const { return source().dtype(); }
  std::size_t bytes() const { return panels_.store().bytes(); }  // of memory, when kept
  const char* name() const { return source().name(); }
  bool kept() const { return panels_.store().filled(); }
  bool stays() const { return panels_.store().stays(); }

  Matrix t_times(const Matrix& a);  // B' a: this rank's part of the sum, f64
  Matrix times(const Matrix& d);    // B d: this rank's rows, f64
  struct Both {
    Matrix times, t_times;
  };
  Both both(const Matrix& d, const Matrix& a);  // B d and B' a, from one pass
  Matrix gram(DType precision);                 // B' B: this rank's part of the sum
  struct Normal {
    Matrix gram, t_times;
  };
  Normal normal(const Matrix& a, DType precision);  // B' B and B' a, from one pass, as gram and t_times
  Matrix dense();                                   // a copy of this rank's rows
  Matrix dense(Int first, Int count);               // of some rows, without computing the others
  Matrix rows(const Index& j);                      // rows j of all ranks, on every rank (collective)
  Matrix square() const;                            // K(I, I) of a KernelBlock's centres I, on this rank alone
  void release() { panels_.store().release(); }     // frees the numbers; a product computes them again

 private:
  const PanelSource& source() const { return panels_.source(); }
  void require_rows(const char* what, const Matrix& a) const;
  void require_cols(const char* what, const Matrix& d) const;
  bool factors(Int k) const { return !kept() && panels_.store().keep() == Keep::while_it_fits && source().factors(k); }

  BlockPanels panels_;
};

// How a block is kept, and what its rows and columns are multiplied by (PanelSource::set_scales).
struct BlockOptions {
  Keep keep = Keep::while_it_fits;
  std::optional<Matrix> row_scale = std::nullopt, column_scale = std::nullopt;
};
// K(rows, columns), of all this rank's rows of x unless `rows` are given; the columns are rows of `centers`
// (collective).
std::unique_ptr<PanelSource> kernel_source(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                           std::optional<Index> rows, const DataSet& centers);
std::shared_ptr<Block> kernel_block(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                    std::optional<Index> rows, const DataSet& centers,
                                    const BlockOptions& options = {});
std::shared_ptr<Block> random_features_block(const DataSet& x, const Index& features, std::shared_ptr<FeatureMap> map,
                                             std::optional<Index> rows, const BlockOptions& options = {});

}  // namespace kbcd
