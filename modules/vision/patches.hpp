// Patches: small squares of pictures, a row each; their normalisation and whitening. What filters are made of.
//
//   normalised   p ← (p − mean(p)) / √(var(p) + bias)        over the numbers of one patch; var divides by how many
//   whitened     q = (p − m) W,   W = V (Λ + ε)^-1/2 V'      m the mean patch, V Λ V' the covariance of the patches
#pragma once

#include "modules/vision/images.hpp"

namespace kbcd::vision {

// A row of size² · channels numbers each; patch j depends on (seed, j) alone. On every rank (collective).
Matrix random_patches(const Images& images, Int count, Int size, std::uint64_t seed);

// Every patch of this rank's picture: those of one line after the other. `to` has a row for each place.
Int places(const ImageShape& shape, Int size);  // (height − size + 1) (width − size + 1)
void copy_patch(const float* picture, const ImageShape& shape, Int size, Int top, Int left, float* to);
Matrix all_patches(const Images& images, Int local, Int size);

void normalize_patch(float* patch, Int count, float bias);
void normalize_patches(const Matrix& patches, double bias);  // in place

struct Whitening {
  Matrix mean;  // 1 x d, f64
  Matrix map;   // d x d, symmetric, f64
};
Whitening zca(const Matrix& patches, double epsilon);

}  // namespace kbcd::vision
