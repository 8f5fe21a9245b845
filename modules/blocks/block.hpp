// Block: the n x b operator that KernelBlock and RandomFeaturesBlock give; this rank's rows of it.
//
// Nothing is computed until the first product. Then the block is kept in memory if it fits the budget (older
// blocks make room), and every product after that reads it; a block that does not fit is computed anew, in
// panels of rows, for each product. The result is the same.
#pragma once

#include <memory>

#include "modules/blocks/panel_source.hpp"

namespace kbcd {

class Block {
 public:
  explicit Block(std::unique_ptr<PanelSource> source) : source_(std::move(source)) {}
  ~Block();
  Block(const Block&) = delete;

  Int rows() const { return source_->rows(); }
  Int cols() const { return source_->cols(); }
  DType dtype() const { return source_->dtype(); }
  std::size_t bytes() const { return rows() * cols() * bytes_of(dtype()); }
  const char* name() const { return source_->name(); }
  bool kept() const { return filled_; }

  Matrix t_times(const Matrix& a);  // B' a: this rank's part of the sum, f64
  Matrix times(const Matrix& d);    // B d: this rank's rows, f64
  Matrix gram(DType precision);     // B' B: this rank's part of the sum
  Matrix dense();                   // a copy of this rank's rows
  Matrix rows(const Index& j);      // rows j of all ranks, on every rank (collective)
  void release();                   // forgets the numbers; they can be computed again

 private:
  bool make_room();
  void require_idle() const;
  template <class T, class Visit>
  void each_panel(Visit&& visit);
  template <class T, class Visit>
  void each_slab(Int rows, Visit&& visit);
  void fill_now();

  std::unique_ptr<PanelSource> source_;
  Matrix slab_;  // rows() x cols(), when kept
  bool has_slab_ = false;
  bool filled_ = false;
  bool busy_ = false;  // its slab is being filled or read
};

std::shared_ptr<Block> kernel_block(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                    std::optional<Index> rows, const DataSet& centers);
std::shared_ptr<Block> random_features_block(const DataSet& x, const Index& features, std::shared_ptr<FeatureMap> map,
                                             std::optional<Index> rows);

}  // namespace kbcd
