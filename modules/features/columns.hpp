// columns: z_j(x) = x_j, for rows that are features already: the columns I of a hashed matrix are the block I of the
// hash kernel's features.
#pragma once

#include "modules/features/feature_map.hpp"

namespace kbcd {

class ColumnsMap : public FeatureMap {
 public:
  explicit ColumnsMap(Int p) : p_(p) { require(p >= 1, "features.columns: p >= 1 expected, got {}", p); }
  std::string name() const override { return "columns"; }
  Int p() const override { return p_; }
  std::shared_ptr<FeatureBlock> block(const Index& features, Int d, DType dtype) const override;
  std::shared_ptr<FeatureBlock> sparse_block(const Index& features, Int d, DType dtype, double) const override {
    return block(features, d, dtype);
  }

 private:
  Int p_;
};

}  // namespace kbcd
