// A folder of PNG files with a folder for each class: FOLDER/CLASS/anything.png, in the order of their names. Files
// that do not end in .png are skipped.
//
// libpng's simplified reader makes 8 bits and one or three channels of any PNG, transparent pixels over black; it
// returns errors as messages, without longjmp.
#include <png.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/access.hpp"
#include "modules/vision/image_loader.hpp"

namespace kbcd::vision {
namespace {

namespace fs = std::filesystem;

constexpr Int largest_side = 4096;
constexpr Int pixels_per_byte = 8 * 1032;  // of one bit each, in zlib's densest code

// One file, from its header on.
class Png {
 public:
  explicit Png(const std::string& path) : path_(path) {
    access::reading(path);
    std::memset(&image_, 0, sizeof image_);
    image_.version = PNG_IMAGE_VERSION;
    check(png_image_begin_read_from_file(&image_, path.c_str()));
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  }
  Png(const Png&) = delete;
  ~Png() { png_image_free(&image_); }

  ImageShape shape() const {
    require(image_.width <= largest_side && image_.height <= largest_side,
            "{}: a picture of {}x{} pixels; at most {} on a side are read", path_, image_.height, image_.width,
            largest_side);
    Int size = static_cast<Int>(fs::file_size(path_));
    require(Int{image_.width} * image_.height <= pixels_per_byte * size,
            "{}: a picture of {}x{} pixels cannot stand in {} bytes: the file is cut off or damaged", path_,
            image_.height, image_.width, size);
    return {image_.height, image_.width, image_.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1};
  }

  void read(Int channels, float* to) {
    image_.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    std::vector<unsigned char> bytes(PNG_IMAGE_SIZE(image_));  // 0: what transparent pixels lie over
    check(png_image_finish_read(&image_, nullptr, bytes.data(), 0, nullptr));
    std::copy(bytes.begin(), bytes.end(), to);
  }

 private:
  void check(int good) {
    if (good) return;
    std::string why = image_.message;
    png_image_free(&image_);
    fail("{}: no PNG file that can be read ({})", path_, why);
  }
  std::string path_;
  png_image image_;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::vector<std::string> sorted_names(const std::string& folder, bool folders) {
  access::reading(folder);
  std::vector<std::string> names;
  std::error_code error;
  for (auto& entry : fs::directory_iterator(folder, error)) {
    bool wanted = folders ? entry.is_directory(error)
                          : entry.is_regular_file(error) && lower(entry.path().extension().string()) == ".png";
    if (wanted) names.push_back(entry.path().filename().string());
  }
  require(!error, "{}: cannot be read ({})", folder, error.message());
  std::sort(names.begin(), names.end());
  return names;
}

class PngFolder : public ImageSource {
 public:
  PngFolder(const std::string& folder, const ImageOptions& options) {
    require(!options.channels || *options.channels == 1 || *options.channels == 3,
            "vision.load: channels: 1 or 3 expected, got {}", options.channels.value_or(0));
    auto folders = sorted_names(folder, true);
    require(!folders.empty(), "{}: a folder for each class expected in it, there is none", folder);
    classes = options.classes.empty() ? folders : options.classes;
    for (auto& name : folders) add(folder + "/" + name, name, options.skip);
    choose_shape(folder, options);
  }

  Int count() const override { return static_cast<Int>(files_.size()); }
  ImageShape shape() const override { return shape_; }

  float read(Int i, float* to) const override {
    Png png(files_[i].path);
    auto [height, width, channels] = png.shape();
    require(height == shape_.height && width == shape_.width, "{}: {}x{} pixels as in {} expected, got {}x{}",
            files_[i].path, shape_.height, shape_.width, model_, height, width);
    png.read(shape_.channels, to);
    return files_[i].label;
  }

 private:
  struct File {
    std::string path;
    float label;
  };

  void add(const std::string& folder, const std::string& name, bool skip) {
    auto label = std::find(classes.begin(), classes.end(), name);
    auto files = sorted_names(folder, false);
    std::string fault;
    if (label == classes.end())
      fault = fmt::format("{}: no such class; {} expected", folder, fmt::join(classes, ", "));
    else if (files.empty())
      fault = fmt::format("{}: no .png file in it", folder);
    require(fault.empty() || skip, "{}", fault);
    if (!fault.empty()) return skipped.push_back(fault);
    for (auto& file : files) files_.push_back({folder + "/" + file, static_cast<float>(label - classes.begin())});
  }

  // That of the first file, or of the first that can be read.
  void choose_shape(const std::string& folder, const ImageOptions& options) {
    std::string fault = folder + ": no picture in it";
    for (auto& file : files_) {
      try {
        shape_ = Png(file.path).shape();
        if (options.channels) shape_.channels = *options.channels;
        model_ = file.path;
        return;
      } catch (const Error& error) {
        if (!options.skip) throw;
        fault = error.what();
      }
    }
    fail("{}", fault);
  }

  std::vector<File> files_;
  ImageShape shape_{};
  std::string model_;  // the file whose size the others must have
};

}  // namespace

std::unique_ptr<ImageSource> png_source(const std::string& folder, const ImageOptions& options) {
  return std::make_unique<PngFolder>(folder, options);
}

}  // namespace kbcd::vision
