#include "modules/vision/images.hpp"

#include <algorithm>

#include "core/random.hpp"

namespace kbcd::vision {
namespace {

void require_views(const char* owner, Int views) {
  constexpr Int most = 1 << 20;
  require(views >= 1 && views <= most, "{}: views from 1 to {} expected, got {}", owner, most, views);
}

}  // namespace

// Row i views + v belongs to the rank r with n views r / R <= i views + v: the rows of rank r begin within its own
// first picture and end within the first picture of the next rank.
Index BorderRows::of(const Layout& layout) {
  std::vector<Int> rows;
  for (int r = 1; r < layout.ranks; ++r)
    if (rows.empty() || rows.back() != layout.first(r)) rows.push_back(layout.first(r));
  return Index(std::move(rows));
}

BorderRows::BorderRows(const DataSet& rows)
    : rows_(rows), numbers_(of(rows.layout())), border_(rows_.gather(numbers_)) {}

const float* BorderRows::row(Int global, float* buffer) const {
  Int local = global - rows_.first();
  if (local >= 0 && local < rows_.local_n()) return rows_.line(local, buffer);
  auto at = std::lower_bound(numbers_.begin(), numbers_.end(), global);
  require(at != numbers_.end() && *at == global, "row {} is neither this rank's nor at a border", global + 1);
  return border_.view<float>().line(at - numbers_.begin());
}

Images::Images(DataSet rows, ImageShape shape)
    : source_(rows.to(DType::f32)), source_shape_(shape), shape_(shape), layout_(rows.layout()) {
  constexpr Int most = 1 << 20;  // so that their product is a number
  for (Int side : {shape.height, shape.width, shape.channels})
    require(side >= 1 && side <= most, "images: height, width and channels from 1 to {} expected, got {}", most,
            shape.text());
  require(rows.d() == shape.size(), "images: rows of {} numbers expected for {} pictures, got {}", shape.size(),
          shape.text(), rows.d());
}

Images Images::crops(Int height, Int width, Int views, std::function<Crop(Int)> crop) const {
  if (crop_) {
    Images stored(rows(), shape_);
    stored.earlier_views_ = this->views();
    return stored.crops(height, width, views, std::move(crop));
  }
  require_views("crops", views);
  require(height >= 1 && width >= 1 && height <= shape_.height && width <= shape_.width,
          "crops of {}x{} do not fit in pictures of {}", height, width, shape_.text());
  Images out = *this;
  out.shape_ = {height, width, shape_.channels};
  out.views_ = views;
  out.layout_ = {n() * views, layout_.ranks};
  out.crop_ = std::move(crop);
  out.pictures_.emplace(source_);
  return out;
}

void Images::read(Int local, float* to) const {
  if (!crop_) {
    if (const float* line = source_.line(local, to); line != to) std::copy_n(line, shape_.size(), to);
    return;
  }
  Int row = first() + local, c = shape_.channels;
  thread_local std::vector<float> buffer;
  buffer.resize(source_shape_.size());
  const float* from = pictures_->row(row / views_, buffer.data());
  auto [top, left, flipped] = crop_(row);
  for (Int y = 0; y < shape_.height; ++y) {
    const float* line = from + ((top + y) * source_shape_.width + left) * c;
    float* out = to + y * shape_.width * c;
    if (flipped)
      for (Int x = 0; x < shape_.width; ++x) std::copy_n(line + (shape_.width - 1 - x) * c, c, out + x * c);
    else
      std::copy_n(line, shape_.width * c, out);
  }
}

DataSet Images::rows() const {
  if (!crop_) return source_;
  Matrix local(local_n(), shape_.size(), DType::f32);
  auto v = local.view<float>();
  parallel_for(v.rows, local.size(), [&](Int i) { read(i, v.line(i)); });
  return {n(), local, "Images:rows"};
}

Images random_crops(const Images& images, Int size, Int views, bool mirror, std::uint64_t seed) {
  Random random(seed, Stream::crop);
  Int tops = images.shape().height - size + 1, lefts = images.shape().width - size + 1;
  return images.crops(size, size, views, [=](Int row) {
    auto below = [&](Int bound, std::uint32_t s) { return static_cast<Int>(random.below(bound, row, s)); };
    return Crop{below(tops, 0), below(lefts, 1), mirror && random.uniform(row, 2) < 0.5};
  });
}

Images fixed_crops(const Images& images, Int size, bool mirror) {
  Int bottom = images.shape().height - size, right = images.shape().width - size, views = mirror ? 10 : 5;
  return images.crops(size, size, views, [=](Int row) {
    const Crop places[] = {
        {0, 0, false}, {0, right, false}, {bottom, 0, false}, {bottom, right, false}, {bottom / 2, right / 2, false}};
    Crop crop = places[row % views % 5];
    crop.mirrored = row % views >= 5;
    return crop;
  });
}

Images mirrored(const Images& images) {
  return images.crops(images.shape().height, images.shape().width, 2, [](Int row) { return Crop{0, 0, row % 2 == 1}; });
}

DataSet repeat_rows(const DataSet& rows, Int views) {
  require_views("repeat_rows", views);
  std::vector<Int> numbers(rows.n() * views);
  for (Int i = 0; i < rows.n() * views; ++i) numbers[i] = i / views;
  return rows.subset(Index(std::move(numbers)));
}

Matrix average_views(const Matrix& scores, Int views) {
  require(views >= 1, "average: views >= 1 expected, got {}", views);
  Layout all = comm::layout(static_cast<Int>(comm::allreduce(scores.rows(), comm::Reduction::sum)));
  require(all.n % views == 0, "average: {} rows are no whole number of pictures with {} views", all.n, views);
  bool mine = scores.rows() == all.count(comm::rank());
  require(comm::allreduce(mine, comm::Reduction::min) > 0, "average: each rank's rows of the scores expected");
  Layout pictures = comm::layout(all.n / views);

  std::vector<Int> at_borders;
  for (Int picture : BorderRows::of(pictures))
    for (Int v = 0; v < views; ++v) at_borders.push_back(picture * views + v);
  Matrix local = scores.contiguous(DType::f64);
  Matrix border = comm::gather_rows(local, all, Index(at_borders));

  Int first = all.first(comm::rank());
  Matrix mean = Matrix::zeros(pictures.count(comm::rank()), scores.cols());
  auto to = mean.view<double>();
  for (Int i = 0; i < to.rows; ++i)
    for (Int v = 0; v < views; ++v) {
      Int row = (pictures.first(comm::rank()) + i) * views + v;
      bool here = row >= first && row - first < local.rows();
      auto at = std::lower_bound(at_borders.begin(), at_borders.end(), row) - at_borders.begin();
      const double* from = here ? local.view<double>().line(row - first) : border.view<double>().line(at);
      for (Int j = 0; j < to.cols; ++j) to(i, j) += from[j] / static_cast<double>(views);
    }
  return mean;
}

}  // namespace kbcd::vision
