// Features of pictures by filters on all their patches, rectified and summed over a grid of regions:
//
//   z_j(p) = f_j · p' − o_j,   p' the normalised patch p
//   feature (g, +, j) = Σ_{p in g} max(0, z_j(p) − α),   feature (g, −, j) = Σ_{p in g} max(0, −z_j(p) − α)
//
// in this order: number (2 g + sign) F + j for F filters. A picture's patches are laid out in panels of rows that stay
// in cache, multiplied by the packed filters and summed at once, so that no more than a panel a thread is ever stored.
#pragma once

#include <optional>

#include "modules/vision/patches.hpp"

namespace kbcd::vision {

struct Convolution {
  Matrix filters;                        // F x size² channels
  Matrix offsets;                        // 1 x F
  std::optional<double> normalize = 10;  // the bias of the patches' normalisation; none: patches as they are
  double alpha = 0.25;                   // of the two-sided rectifier
  Int pool = 2;                          // the regions: pool x pool

  Int features() const { return 2 * pool * pool * filters.rows(); }
};

// An n x features() data set of f32.
DataSet convolve(const Images& images, const Convolution& convolution);

}  // namespace kbcd::vision
