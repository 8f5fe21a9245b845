// KernelColumns: K([n], I) of the rows I of some tiles of a KernelTriangle, as an operator (made by all ranks).
#pragma once

#include "modules/blocks/kernel_triangle.hpp"

namespace kbcd {

class KernelColumns {
 public:
  KernelColumns(std::shared_ptr<KernelTriangle> k, const Index& tiles);
  Int rows() const { return k_->rows(); }
  Int cols() const { return columns_.size(); }
  const Index& columns() const { return columns_; }  // I

  Matrix times(const Matrix& d) const;                                         // this rank's rows (collective)
  Matrix t_times(const Matrix& v) const { return k_->rows_times(tiles_, v); }  // this rank's part of the sum
  Matrix square() const;                                                       // K(I, I), on this rank alone

 private:
  std::shared_ptr<KernelTriangle> k_;
  Index tiles_, columns_;
  std::shared_ptr<Block> block_;  // of several ranks, none of which has all rows of the tiles: for K(I, I) from x_I
};

}  // namespace kbcd
