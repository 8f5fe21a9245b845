// Block: the n x b operator that KernelBlock and RandomFeaturesBlock give; this rank's rows of it.
//
// Nothing is computed until the first product. Then the block is kept in memory if it fits the budget, and every
// product after that reads it; a block that does not fit is computed anew, in panels of rows, for each product. The
// result is the same. One that is multiplied only once is best not kept at all: its panels then stay in cache. Where
// the source can multiply without the entries and that is cheaper (a linear kernel of sparse rows and few columns), a
// block that is not there and was not asked to stay is not computed at all.
//
// A block asked to stay holds its place in the budget until it is released or dies, if there is room for it and for
// one more of its size; the others make room for each other, the least recently used first. What stays can be stored
// in f16: half the memory, and 3 digits.
#pragma once

#include <memory>

#include "modules/blocks/panel_source.hpp"

namespace kbcd {

// none: computed anew for each product; f32: to stay, in its own type.
enum class Keep { while_it_fits, none, f32, f16 };

class Block {
 public:
  Block(std::unique_ptr<PanelSource> source, Keep keep);
  ~Block();
  Block(const Block&) = delete;

  Int rows() const { return source_->rows(); }
  Int cols() const { return source_->cols(); }
  DType dtype() const { return source_->dtype(); }
  std::size_t bytes() const;  // what it takes when kept
  const char* name() const { return source_->name(); }
  bool kept() const { return filled_; }
  bool stays() const { return stays_; }

  Matrix t_times(const Matrix& a);  // B' a: this rank's part of the sum, f64
  Matrix times(const Matrix& d);    // B d: this rank's rows, f64
  Matrix gram(DType precision);     // B' B: this rank's part of the sum
  struct Normal {
    Matrix gram, t_times;
  };
  Normal normal(const Matrix& a, DType precision);  // B' B and B' a, from one pass, as gram and t_times
  Matrix dense();                                   // a copy of this rank's rows
  Matrix rows(const Index& j);                      // rows j of all ranks, on every rank (collective)
  Matrix square() const;                            // K(I, I) of a KernelBlock's centres I, on this rank alone
  void release();                                   // forgets the numbers; they can be computed again

 private:
  template <class T>
  class TransposedSum;

  bool factors(Int k) const { return !filled_ && keep_ == Keep::while_it_fits && source_->factors(k); }
  bool half() const { return keep_ == Keep::f16; }
  bool make_room();
  void require_idle() const;
  template <class T>
  View<T> panel(Int first, Int count, View<T> room);
  template <class T, class Visit>
  void each_panel(Visit&& visit);
  template <class T, class Visit>
  void each_slab(Visit&& visit);

  std::unique_ptr<PanelSource> source_;
  Keep keep_;
  Matrix slab_;                     // rows() x cols(), when kept as it is
  std::unique_ptr<Buffer> halves_;  // the same in f16
  bool has_room_ = false;
  bool filled_ = false;
  bool stays_ = false;  // others do not push it out
  bool busy_ = false;   // it is being filled or read
};

std::shared_ptr<Block> kernel_block(const DataSet& x, const Index& columns, std::shared_ptr<Kernel> kernel,
                                    std::optional<Index> rows, const DataSet& centers, Keep keep = Keep::while_it_fits);
std::shared_ptr<Block> random_features_block(const DataSet& x, const Index& features, std::shared_ptr<FeatureMap> map,
                                             std::optional<Index> rows, Keep keep = Keep::while_it_fits);

}  // namespace kbcd
