#include "modules/vision/patches.hpp"

#include <Eigen/Core>
#include <cmath>

#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/memory.hpp"
#include "core/random.hpp"

namespace kbcd::vision {
namespace {

void require_fits(const ImageShape& shape, Int size) {
  require(size >= 1 && size <= shape.height && size <= shape.width,
          "patches of {}x{} expected to fit in pictures of {}", size, size, shape.text());
}

using Lanes = Eigen::Array<float, 16, 1>;

// Σ f(p_i), for an f with f(0) = 0. The numbers are added in an order that depends on their places alone: Eigen's sum
// of a whole row begins where memory is aligned, and has other bits elsewhere.
template <class F>
float sum(const float* p, Int count, const F& f) {
  constexpr Int lanes = Lanes::RowsAtCompileTime;
  Lanes total = Lanes::Zero(), rest = Lanes::Zero();
  Int i = 0;
  for (; i + lanes <= count; i += lanes) total += f(Eigen::Map<const Lanes>(p + i));
  std::copy(p + i, p + count, rest.data());
  return (total + f(rest)).sum();
}

}  // namespace

Int places(const ImageShape& shape, Int size) {
  require_fits(shape, size);
  return (shape.height - size + 1) * (shape.width - size + 1);
}

void copy_patch(const float* picture, const ImageShape& shape, Int size, Int top, Int left, float* to) {
  Int line = size * shape.channels;
  for (Int y = 0; y < size; ++y)
    std::copy_n(picture + ((top + y) * shape.width + left) * shape.channels, line, to + y * line);
}

// Each rank cuts those of its own pictures; they are collected in the order of their numbers.
Matrix random_patches(const Images& images, Int count, Int size, std::uint64_t seed) {
  require_fits(images.shape(), size);
  require(count >= 1, "patches: count >= 1 expected, got {}", count);
  require(count <= static_cast<Int>(memory::available() / sizeof(Int)), "patches: {} are more than this machine holds",
          count);
  auto& shape = images.shape();
  Random random(seed, Stream::patch);
  auto below = [&](Int bound, Int j, std::uint32_t s) { return static_cast<Int>(random.below(bound, j, s)); };
  std::vector<Int> numbers(count);
  for (Int j = 0; j < count; ++j) numbers[j] = below(images.n(), j, 0);
  Index from(std::move(numbers));
  auto positions = images.layout().owned_positions(from, comm::rank());
  Matrix mine(positions.size(), size * size * shape.channels, DType::f32);
  auto v = mine.view<float>();
  parallel_for(v.rows, v.rows * shape.size(), [&](Int i) {
    thread_local std::vector<float> picture;
    picture.resize(shape.size());
    Int j = positions[i];
    images.read(from[j] - images.first(), picture.data());
    copy_patch(picture.data(), shape, size, below(shape.height - size + 1, j, 1), below(shape.width - size + 1, j, 2),
               v.line(i));
  });
  return comm::allgather_owned(mine, images.layout(), from);
}

Matrix all_patches(const Images& images, Int local, Int size) {
  auto& shape = images.shape();
  require(local >= 0 && local < images.local_n(), "patches: a picture in 1..{} of this rank expected, got {}",
          images.local_n(), local + 1);
  Int count = places(shape, size);  // checks the size
  Matrix patches(count, size * size * shape.channels, DType::f32);
  std::vector<float> picture(shape.size());
  images.read(local, picture.data());
  Int across = shape.width - size + 1;
  for (Int i = 0; i < patches.rows(); ++i)
    copy_patch(picture.data(), shape, size, i / across, i % across, patches.view<float>().line(i));
  return patches;
}

void normalize_patch(float* patch, Int count, float bias) {
  Eigen::Map<Eigen::ArrayXf> p(patch, count);
  auto mean = [&](auto&& f) { return sum(patch, count, f) / static_cast<float>(count); };
  p -= mean([](const Lanes& x) { return x; });
  p *= 1 / std::sqrt(mean([](const Lanes& x) -> Lanes { return x.square(); }) + bias);
}

void normalize_patches(const Matrix& patches, double bias) {
  require(bias > 0, "normalize: bias > 0 expected, got {}", bias);
  require(patches.dtype() == DType::f32 && !patches.transposed(), "normalize: an f32 Matrix of a patch a row expected");
  auto v = patches.view<float>();
  parallel_for(v.rows, patches.size(), [&](Int i) { normalize_patch(v.line(i), v.cols, static_cast<float>(bias)); });
}

Whitening zca(const Matrix& patches, double epsilon) {
  require(patches.rows() >= 1 && patches.cols() >= 1, "zca: at least one patch expected, got {}", patches.shape());
  require(epsilon > 0, "zca: epsilon > 0 expected, got {}", epsilon);
  Matrix mean = col_sums(patches);
  scale(mean, 1.0 / patches.rows());
  Matrix centred = patches.to(DType::f64);
  add(centred, -1, mean);
  Matrix covariance = blas::gram(centred);
  scale(covariance, 1.0 / patches.rows());
  auto [values, vectors] = blas::symmetric_eigen(covariance);
  Matrix scaled = vectors.clone();  // V (Λ + ε)^-1/2; rounding may leave an eigenvalue a little below 0
  for (Int j = 0; j < scaled.cols(); ++j)
    scale(scaled.col_block(j, 1), 1 / std::sqrt(std::max(values.get(j, 0), 0.0) + epsilon));
  return {mean, blas::product(scaled, vectors.t())};
}

}  // namespace kbcd::vision
