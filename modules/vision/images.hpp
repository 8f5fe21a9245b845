// Images: n pictures of one size, distributed over the ranks like the rows of a DataSet, and views of them.
//
// A picture is a row of height · width · channels numbers, f32, line after line and the channels of a pixel together:
// (y, x, c) is number (y width + x) channels + c. Loaders give values from 0 to 255, kept as bytes. Views (crops,
// mirror images) are read out of the pictures when they are needed and never stored; the views of a picture follow each
// other, so that view v of picture i is row i views + v.
#pragma once

#include <optional>

#include "modules/data/dataset.hpp"

namespace kbcd::vision {

struct ImageShape {
  Int height, width, channels;

  Int size() const { return height * width * channels; }
  std::string text() const { return fmt::format("{}x{}x{}", height, width, channels); }
  bool operator==(const ImageShape&) const = default;
};

// A rectangle of a picture by its upper left corner, perhaps with left and right exchanged.
struct Crop {
  Int top, left;
  bool mirrored;
};

// Rows of dense f32 data that this rank needs when every row is repeated: its own, and those at the borders between
// ranks, which are gathered at once (collective).
class BorderRows {
 public:
  explicit BorderRows(const DataSet& rows);
  static Index of(const Layout& layout);              // the first row of every rank but the first
  const float* row(Int global, float* buffer) const;  // in `buffer` where the rows are kept as bytes

 private:
  DataSet rows_;
  Index numbers_;
  Matrix border_;
};

class Images {
 public:
  Images(DataSet rows, ImageShape shape);
  // `views` of each picture, of the given size: view v of picture i is crop(i views + v) of it (collective).
  Images crops(Int height, Int width, Int views, std::function<Crop(Int row)> crop) const;

  Int n() const { return layout_.n; }
  Int local_n() const { return layout_.count(comm::rank()); }
  Int first() const { return layout_.first(comm::rank()); }
  Int views() const { return earlier_views_ * views_; }  // of a picture, those of its views counted
  const Layout& layout() const { return layout_; }
  const ImageShape& shape() const { return shape_; }
  void read(Int local, float* to) const;  // shape().size() numbers
  DataSet rows() const;                   // all of them stored

 private:
  DataSet source_;
  ImageShape source_shape_, shape_;
  Int views_ = 1, earlier_views_ = 1;  // of each row of source_; that those rows are of a picture themselves
  Layout layout_;
  std::function<Crop(Int)> crop_;       // none: the pictures themselves
  std::optional<BorderRows> pictures_;  // with crop_
};

// Pieces of size x size, or all of the picture, at random places, each mirrored with probability 1/2 if `mirror`. View
// v of picture i depends on (seed, i, v) alone.
Images random_crops(const Images& images, Int size, Int views, bool mirror, std::uint64_t seed);
// The four corners and the centre, and the mirror images of these five behind them.
Images fixed_crops(const Images& images, Int size, bool mirror);
// Each picture and its mirror image.
Images mirrored(const Images& images);

// Each row `views` times (labels of the pictures -> labels of their views); collective.
DataSet repeat_rows(const DataSet& rows, Int views);
// The mean over the views of each picture of this rank's rows of scores; gives this rank's rows of n (collective).
Matrix average_views(const Matrix& scores, Int views);

}  // namespace kbcd::vision
