// A folder of PNG files with a folder for each class: FOLDER/CLASS/anything.png, in the order of their names. Files
// that do not end in .png are skipped.
//
// libpng gives the samples as the file has them (its simplified reader mixes the passes of interlaced pictures of 16
// bits up). They become 8 bits and one or three channels here: transparent pixels over black, no gamma or profile
// applied, grey as 0.2126 R + 0.7152 G + 0.0722 B.
#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csetjmp>
#include <cstdio>
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
    file_ = std::fopen(path.c_str(), "rb");
    if (!file_) stop(std::strerror(errno));
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) stop("out of memory");
    if (!read_header()) stop(why_);
  }
  Png(const Png&) = delete;
  ~Png() { close(); }

  ImageShape shape() const {
    require(width_ <= largest_side && height_ <= largest_side,
            "{}: a picture of {}x{} pixels; at most {} on a side are read", path_, height_, width_, largest_side);
    Int size = static_cast<Int>(fs::file_size(path_));
    require(width_ * height_ <= pixels_per_byte * size,
            "{}: a picture of {}x{} pixels cannot stand in {} bytes: the file is cut off or damaged", path_, height_,
            width_, size);
    return {height_, width_, type_ & PNG_COLOR_MASK_COLOR ? 3 : 1};
  }

  void read(Int channels, float* to) {
    Int line = static_cast<Int>(png_get_rowbytes(png_, info_));
    samples_.resize(line * height_);
    lines_.resize(height_);
    for (Int y = 0; y < height_; ++y) lines_[y] = samples_.data() + y * line;
    if (!read_samples()) stop(why_);
    for (Int y = 0; y < height_; ++y)
      for (Int x = 0; x < width_; ++x, to += channels) put(pixel(lines_[y], x), channels, to);
  }

 private:
  struct Pixel {
    double colour[3], alpha;  // from 0 to 1
  };

  // libpng leaves these two by longjmp when something is wrong: no object is made in them.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_init_io(png_, file_);
    png_set_user_limits(png_, 1000000, 1000000);  // before a line is allocated; shape() wants less
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // none but those that make the pixels
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png_, info_);
    width_ = png_get_image_width(png_, info_), height_ = png_get_image_height(png_, info_);
    type_ = png_get_color_type(png_, info_), depth_ = png_get_bit_depth(png_, info_);
    if (type_ == PNG_COLOR_TYPE_PALETTE) png_get_PLTE(png_, info_, &palette_, &palette_size_);
    png_get_tRNS(png_, info_, &clear_, &clear_size_, &clear_colour_);
    png_set_packing(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_samples() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, lines_.data());
    png_read_end(png_, nullptr);
    return true;
  }

  Pixel pixel(const png_byte* line, Int x) const {
    int count = type_ == PNG_COLOR_TYPE_PALETTE ? 1 : png_get_channels(png_, info_);
    unsigned samples[4];
    for (int c = 0; c < count; ++c) {
      Int at = x * count + c;
      samples[c] = depth_ == 16 ? line[2 * at] * 256u + line[2 * at + 1] : line[at];
    }
    if (type_ == PNG_COLOR_TYPE_PALETTE) return entry(static_cast<int>(samples[0]));
    double most = (1 << depth_) - 1;
    bool coloured = type_ & PNG_COLOR_MASK_COLOR;
    Pixel out{{}, type_ & PNG_COLOR_MASK_ALPHA ? samples[count - 1] / most : 1};
    for (int c = 0; c < 3; ++c) out.colour[c] = samples[coloured ? c : 0] / most;
    if (clear_colour_) {
      auto& key = *clear_colour_;
      bool same = coloured ? samples[0] == key.red && samples[1] == key.green && samples[2] == key.blue
                           : samples[0] == key.gray;
      if (same) out.alpha = 0;
    }
    return out;
  }

  Pixel entry(int i) const {
    require(i < palette_size_, "{}: a pixel of colour {} and a palette of {}: the file is damaged", path_, i,
            palette_size_);
    auto& c = palette_[i];
    return {{c.red / 255.0, c.green / 255.0, c.blue / 255.0}, i < clear_size_ && clear_ ? clear_[i] / 255.0 : 1};
  }

  static void put(const Pixel& p, Int channels, float* to) {
    auto value = [&](double part) { return static_cast<float>(std::floor(255 * part * p.alpha + 0.5)); };
    auto& c = p.colour;
    if (channels == 3)
      for (int k = 0; k < 3; ++k) to[k] = value(c[k]);
    else
      to[0] = value(c[0] == c[1] && c[1] == c[2] ? c[0] : 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]);
  }

  static void on_error(png_structp png, png_const_charp message) {
    std::snprintf(static_cast<Png*>(png_get_error_ptr(png))->why_, sizeof why_, "%s", message);
    png_longjmp(png, 1);
  }
  void close() {
    png_destroy_read_struct(&png_, &info_, nullptr);
    if (file_) std::fclose(file_);
    file_ = nullptr;
  }
  [[noreturn]] void stop(const char* why) {
    close();
    fail("{}: no PNG file that can be read ({})", path_, why);
  }

  std::string path_;
  std::FILE* file_ = nullptr;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char why_[200] = "";
  Int width_ = 0, height_ = 0;
  int type_ = 0, depth_ = 8;
  png_colorp palette_ = nullptr;
  png_bytep clear_ = nullptr;  // the alpha of the first entries of the palette
  int palette_size_ = 0, clear_size_ = 0;
  png_color_16p clear_colour_ = nullptr;  // the one that is transparent, in pictures without a palette
  std::vector<png_byte> samples_;
  std::vector<png_bytep> lines_;
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

class PngFiles : public ImageSource {
 public:
  PngFiles(const std::vector<std::string>& paths, const ImageOptions& options) {
    require(!options.channels || *options.channels == 1 || *options.channels == 3,
            "vision.load: channels: 1 or 3 expected, got {}", options.channels.value_or(0));
    if (paths.size() > 1 || !fs::is_directory(paths[0]))
      add_files(paths, paths[0]);
    else
      add_folder(paths[0], options);
    choose_shape(paths[0], options);
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

  // Files without labels.
  void add_files(const std::vector<std::string>& paths, const std::string& where) {
    require(!paths.empty(), "{}: PNG files expected in it, or a folder for each class; there is neither", where);
    labelled = false;
    for (auto& path : paths) files_.push_back({path, 0});
  }

  void add_folder(const std::string& folder, const ImageOptions& options) {
    auto folders = sorted_names(folder, true), files = sorted_names(folder, false);
    if (folders.empty()) {
      require(options.classes.empty(), "{}: a folder for each class expected in it, there is none", folder);
      for (auto& file : files) file = folder + "/" + file;
      return add_files(files, folder);
    }
    classes = options.classes.empty() ? folders : options.classes;
    for (auto& name : folders) add(folder + "/" + name, name, options.skip);
  }

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

std::unique_ptr<ImageSource> png_source(const std::vector<std::string>& paths, const ImageOptions& options) {
  return std::make_unique<PngFiles>(paths, options);
}

}  // namespace kbcd::vision
