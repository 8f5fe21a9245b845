#include "modules/vision/convolution.hpp"

#include <Eigen/Core>
#include <cmath>

#include "core/tiles.hpp"
#include "core/timers.hpp"

namespace kbcd::vision {
namespace {

constexpr Int panel_rows = 160;  // patches at a time: with a strip of filters' results they stay in L2

constexpr Int lanes = 16;  // filters whose sums are in registers at a time; a strip has a few of these, or half

using Line = Eigen::Map<Eigen::ArrayXf>;
using Lanes = Eigen::Array<float, lanes, 1>;

// What all pictures share: the filters packed, and where their rectifiers begin.
struct Shared {
  ImageShape shape;
  Int size, pool;
  std::optional<float> normalize;
  tiles::Columns<float> filters;
  Eigen::ArrayXf above, below;  // z' = f·p counts above o + α and below o − α; filled up to whole strips
};

// The buffers of one thread.
struct Scratch {
  std::vector<float> picture, lines, results;
  tiles::Rows<float> panel;
};

Int side_of_patch(const Matrix& filters, Int channels) {
  Int size = std::llround(std::sqrt(static_cast<double>(filters.cols()) / static_cast<double>(channels)));
  require(size >= 1 && size * size * channels == filters.cols(),
          "convolve: filters of size x size x {} numbers expected for these pictures, got {}", channels,
          filters.cols());
  return size;
}

Shared prepare(const ImageShape& shape, const Convolution& c) {
  Int count = c.filters.rows(), size = side_of_patch(c.filters, shape.channels);
  require(count >= 1, "convolve: at least one filter expected");
  require(c.offsets.rows() == 1 && c.offsets.cols() == count, "convolve: offsets: 1x{} expected, got {}", count,
          c.offsets.shape());
  require(c.alpha >= 0, "convolve: alpha >= 0 expected, got {}", c.alpha);
  require(!c.normalize || *c.normalize > 0, "convolve: normalize > 0 expected, got {}", c.normalize.value_or(0));
  places(shape, size);
  require(c.pool >= 1 && c.pool <= std::min(shape.height, shape.width) - size + 1,
          "convolve: pool in 1..{} expected, got {}", std::min(shape.height, shape.width) - size + 1, c.pool);
  Matrix filters = c.filters.contiguous(DType::f32);
  Shared shared{shape, size, c.pool, {}, tiles::Columns<float>(filters.view<float>().t()), {}, {}};
  if (c.normalize) shared.normalize = static_cast<float>(*c.normalize);
  Int wide = shared.filters.strip_cols(), filled = (count + wide - 1) / wide * wide;
  shared.above = shared.below = Eigen::ArrayXf::Zero(filled);
  for (Int j = 0; j < count; ++j) {
    shared.above[j] = static_cast<float>(c.offsets.get(0, j) + c.alpha);
    shared.below[j] = static_cast<float>(c.offsets.get(0, j) - c.alpha);
  }
  return shared;
}

// Places [first, first + count) of a region that is `across` wide, as packed rows.
void lay_out(const Shared& shared, Scratch& scratch, Int top, Int left, Int across, Int first, Int count) {
  Int depth = shared.filters.depth(), group = scratch.panel.group_rows();
  scratch.lines.resize(group * depth);
  scratch.panel.resize(count, depth);
  for (Int i = 0; i < count; i += group) {
    Int here = std::min(group, count - i);
    for (Int k = 0; k < here; ++k) {
      Int place = first + i + k;
      float* line = scratch.lines.data() + k * depth;
      copy_patch(scratch.picture.data(), shared.shape, shared.size, top + place / across, left + place % across, line);
      if (shared.normalize) normalize_patch(line, depth, *shared.normalize);
    }
    scratch.panel.set(i, here, scratch.lines.data(), depth);
  }
}

// The sums of one panel's patches over all filters are added to `out`, 2 F numbers.
void add_panel(const Shared& shared, Scratch& scratch, Int count, float* out) {
  Int filters = shared.filters.cols(), wide = shared.filters.strip_cols(), group = scratch.panel.group_rows();
  Int rows = (count + group - 1) / group * group;  // whole groups; what is behind `count` is not looked at
  scratch.results.resize(rows * wide + lanes);
  View<float> z{scratch.results.data(), rows, wide, wide};
  for (Int j = 0; j < filters; j += wide) {
    tiles::multiply(scratch.panel, shared.filters, j, z);
    for (Int v = 0; v < wide; v += lanes) {
      Int width = std::min(lanes, wide - v), used = std::min(width, filters - j - v);
      if (used <= 0) break;
      Lanes above = Lanes::Zero(), below = above, high = above, low = above;
      above.head(width) = shared.above.segment(j + v, width);
      below.head(width) = shared.below.segment(j + v, width);
      for (Int i = 0; i < count; ++i) {
        Lanes value = Eigen::Map<Lanes>(z.line(i) + v);
        high += (value - above).max(0.f);
        low += (below - value).max(0.f);
      }
      Line(out + j + v, used) += high.head(used);
      Line(out + filters + j + v, used) += low.head(used);
    }
  }
}

void features_of(const Shared& shared, Scratch& scratch, float* out) {
  Int down = shared.shape.height - shared.size + 1, across = shared.shape.width - shared.size + 1, pool = shared.pool;
  Int each = 2 * shared.filters.cols();
  std::fill_n(out, pool * pool * each, 0.f);
  for (Int g = 0; g < pool * pool; ++g) {
    Int top = g / pool * down / pool, bottom = (g / pool + 1) * down / pool;
    Int left = g % pool * across / pool, right = (g % pool + 1) * across / pool;
    Int places = (bottom - top) * (right - left);
    for (Int first = 0; first < places; first += panel_rows) {
      Int count = std::min(panel_rows, places - first);
      lay_out(shared, scratch, top, left, right - left, first, count);
      add_panel(shared, scratch, count, out + g * each);
    }
  }
}

}  // namespace

DataSet convolve(const Images& images, const Convolution& convolution) {
  Timer timer("convolve");
  Shared shared = prepare(images.shape(), convolution);
  require_dense_room("convolve", images.n(), convolution.features(), DType::f32);
  Matrix local(images.local_n(), convolution.features(), DType::f32);
  auto v = local.view<float>();
  Int work = places(images.shape(), shared.size) * convolution.filters.size();
  parallel_for(v.rows, v.rows * work, [&](Int i) {
    thread_local Scratch scratch;
    scratch.picture.resize(shared.shape.size());
    images.read(i, scratch.picture.data());
    features_of(shared, scratch, v.line(i));
  });
  return {images.n(), local, "convolve"};
}

}  // namespace kbcd::vision
