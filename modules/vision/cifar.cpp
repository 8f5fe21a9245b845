// CIFAR-10 binary batches: records of a label (0..9) and 32 x 32 pixels, all red values, then all green, then all blue.
#include <array>
#include <filesystem>
#include <fstream>

#include "core/access.hpp"
#include "modules/vision/image_loader.hpp"

namespace kbcd::vision {
namespace {

constexpr Int side = 32, plane = side * side, channels = 3, record = 1 + plane * channels, labels = 10;

class Cifar : public ImageSource {
 public:
  Cifar(const std::vector<std::string>& paths, const ImageOptions& options) : paths_(paths) {
    for (auto& path : paths) {
      access::reading(path);
      std::error_code error;
      require(std::filesystem::is_regular_file(path, error), "{}: cannot be read (no such file)", path);
      Int bytes = static_cast<Int>(std::filesystem::file_size(path, error)), whole = bytes / record;
      std::string fault = fmt::format("{}: ends {} bytes into picture {}; CIFAR-10 batches have {} bytes a picture",
                                      path, bytes % record, whole + 1, record);
      bool good = bytes % record == 0 && bytes > 0;
      require(good || options.skip, "{}", fault);
      if (!good) skipped.push_back(fault);
      counts_.push_back(whole);
      count_ += whole;
    }
  }

  Int count() const override { return count_; }
  ImageShape shape() const override { return {side, side, channels}; }

  float read(Int i, float* to) const override {
    std::size_t file = 0;
    Int at = i;
    for (; at >= counts_[file]; ++file) at -= counts_[file];
    std::array<unsigned char, record> bytes;
    std::ifstream in(paths_[file], std::ios::binary);
    in.seekg(at * record);
    in.read(reinterpret_cast<char*>(bytes.data()), record);
    require(in.gcount() == record, "{}: picture {} cannot be read", paths_[file], at + 1);
    require(bytes[0] < labels, "{}: picture {} has the label {}; 0..9 expected", paths_[file], at + 1, bytes[0]);
    for (Int c = 0; c < channels; ++c)
      for (Int p = 0; p < plane; ++p) to[p * channels + c] = bytes[1 + c * plane + p];
    return bytes[0];
  }

 private:
  std::vector<std::string> paths_;
  std::vector<Int> counts_;
  Int count_ = 0;
};

}  // namespace

std::unique_ptr<ImageSource> cifar_source(const std::vector<std::string>& paths, const ImageOptions& options) {
  return std::make_unique<Cifar>(paths, options);
}

}  // namespace kbcd::vision
