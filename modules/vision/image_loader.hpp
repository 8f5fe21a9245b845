// Pictures from files: CIFAR-10 binary batches, idx, PNG files: a folder with a folder of them for each class, a folder
// of them, or files by name.
#pragma once

#include <optional>

#include "modules/vision/images.hpp"

namespace kbcd::vision {

struct ImageOptions {
  std::optional<std::string> format = {};  // "cifar", "idx" or "png"; default: by the look of the path
  std::optional<Int> rows = {};            // only the first so many
  std::optional<std::string> labels = {};  // idx: the file of labels; default: …images-idx3… -> …labels-idx1…, if there
  std::optional<Int> channels = {};       // png: 1 or 3; default: as the first picture has it
  std::vector<std::string> classes = {};  // png: the names that folders may have; default: those that are there
  bool skip = false;                      // cifar, png: skip damaged pictures instead of failing
};

struct LoadedImages {
  Images images;
  std::optional<DataSet> y = {};          // a column of class numbers, from 0
  std::vector<std::string> classes = {};  // their names, where the files have any
  std::vector<std::string> skipped = {};  // what was skipped, and why
};

// Collective. Values are from 0 to 255 (idx files of other types than u8: as they are).
LoadedImages load_images(const std::vector<std::string>& paths, const ImageOptions& options);

// Pictures that are read one by one, from any thread: what the loaders of CIFAR and PNG files give. Every rank has the
// same list of them.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual Int count() const = 0;
  virtual ImageShape shape() const = 0;
  // shape().size() whole numbers from 0 to 255; gives the label. Fails with the file's name where the picture is not as
  // it should be.
  virtual float read(Int i, float* to) const = 0;

  bool labelled = true;
  std::vector<std::string> classes = {};
  std::vector<std::string> skipped = {};  // files that could not be listed
};

std::unique_ptr<ImageSource> cifar_source(const std::vector<std::string>& paths, const ImageOptions& options);
std::unique_ptr<ImageSource> png_source(const std::vector<std::string>& paths, const ImageOptions& options);

}  // namespace kbcd::vision
