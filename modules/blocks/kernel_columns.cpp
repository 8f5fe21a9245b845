#include "modules/blocks/kernel_columns.hpp"

#include "modules/blocks/selector.hpp"

namespace kbcd {

KernelColumns::KernelColumns(std::shared_ptr<KernelTriangle> k, const Index& tiles) : k_(std::move(k)), tiles_(tiles) {
  std::vector<Index> parts;
  for (Int t : k_->checked(tiles)) parts.push_back(k_->tile(t));
  columns_ = Index::concatenate(parts);
  if (comm::size() == 1) return;
  BlockOptions options{Keep::none, k_->scale_, {}};
  if (k_->scale_) options.column_scale = comm::gather_rows(*k_->scale_, k_->x_.layout(), columns_);
  block_ = kernel_block(k_->x_, columns_, k_->kernel_, {}, k_->x_, options);
}

Matrix KernelColumns::times(const Matrix& d) const {
  require(d.rows() == cols(), "columns * D: D must have {} rows, got {}", cols(), d.shape());
  return k_->times(Selector(k_->cols(), columns_).times(d));
}

Matrix KernelColumns::square() const {
  return block_ ? block_->square() : k_->square(tiles_);
}

}  // namespace kbcd
