#include "modules/vision/image_loader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "modules/data/loader.hpp"

namespace kbcd::vision {
namespace {

namespace fs = std::filesystem;

// The shape is in the header: n, height, width, and perhaps channels.
ImageShape idx_shape(const std::string& path) {
  FileReader in(path);
  std::array<std::uint8_t, 4> word;
  in.read(word.data(), 4, "the idx header");
  bool images = word[0] == 0 && word[1] == 0 && (word[3] == 3 || word[3] == 4);
  require(images,
          "{}: pictures expected: an idx file of 3 or 4 dimensions (CIFAR-10 batches end in .bin, PNG files in "
          ".png; the option format names one)",
          path);
  std::array<Int, 4> shape = {0, 0, 0, 1};
  for (int i = 0; i < word[3]; ++i) {
    std::array<std::uint8_t, 4> n;
    in.read(n.data(), 4, "the idx header");
    shape[i] = static_cast<Int>(n[0]) << 24 | n[1] << 16 | n[2] << 8 | n[3];
  }
  return {shape[1], shape[2], shape[3]};
}

std::optional<std::string> labels_beside(std::string path) {
  auto at = path.rfind("images-idx3");
  if (at == path.npos) return {};
  path.replace(at, 11, "labels-idx1");
  return fs::exists(path) ? std::optional(path) : std::nullopt;
}

LoadedImages load_idx(const std::string& path, const ImageOptions& o) {
  ImageShape shape{};
  std::optional<std::string> labels = o.labels;
  comm::together([&] {
    shape = idx_shape(path);
    if (!labels) labels = labels_beside(path);
  });
  Values options = {{"dtype", DType::f32}, {"scale", false}};
  if (o.rows) options.emplace("rows", *o.rows);
  LoadedImages loaded{Images(load(path, options).x, shape)};
  if (!labels) return loaded;
  loaded.y = load(*labels, {{"dtype", DType::f32}}).x;
  require(o.rows || loaded.y->n() == loaded.images.n(), "{} has {} pictures, {} has {} labels", path, loaded.images.n(),
          *labels, loaded.y->n());
  require(loaded.y->n() >= loaded.images.n(), "{}: {} labels expected, got {}", *labels, loaded.images.n(),
          loaded.y->n());
  if (o.rows) loaded.y = loaded.y->subset(Index::range(0, *o.rows));
  return loaded;
}

// Reads every picture once to see which can be: each rank its share. Gives those that can, and fills `skipped`.
std::vector<Int> readable(const ImageSource& source, std::vector<std::string>& skipped) {
  Layout layout = comm::layout(source.count());
  Int first = layout.first(comm::rank()), size = source.shape().size();
  std::vector<std::string> faults(layout.count(comm::rank()));
  parallel_for(static_cast<Int>(faults.size()), layout.count(comm::rank()) * size, [&](Int i) {
    std::vector<float> pixels(size);
    try {
      source.read(first + i, pixels.data());
    } catch (const std::exception& error) {
      faults[i] = error.what();
      std::replace(faults[i].begin(), faults[i].end(), '\n', ' ');  // a line each; a file's name may have several
    }
  });
  std::string mine;
  for (auto& fault : faults) mine += fault + '\n';
  std::vector<Int> good;
  Int number = 0;
  for (auto& text : comm::allgather(mine))
    for (std::size_t at = 0; at < text.size(); ++number) {
      auto end = text.find('\n', at);
      if (end == at)
        good.push_back(number);
      else
        skipped.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  return good;
}

LoadedImages load_source(const ImageSource& source, const std::string& what, const ImageOptions& o) {
  std::vector<std::string> skipped = source.skipped;
  std::vector<Int> list(source.count());
  std::iota(list.begin(), list.end(), 0);
  if (o.skip) list = readable(source, skipped);
  Int found = static_cast<Int>(list.size()), n = o.rows.value_or(found);
  require(found >= 1, "{}: no picture in it can be read; the first: {}", what,
          skipped.empty() ? "there is none" : skipped[0]);
  require(n <= found, "{}: rows = {} asked for, there are {} pictures", what, n, found);
  Layout layout = comm::layout(n);
  Int first = layout.first(comm::rank());
  ImageShape shape = source.shape();
  comm::together([&] { require_byte_room(what, n, shape.size(), fewer_rows); });
  ByteMatrix pixels(layout.count(comm::rank()), shape.size(), {});
  Matrix labels(pixels.rows(), 1, DType::f32);
  auto l = labels.view<float>();
  comm::together([&] {
    parallel_for(pixels.rows(), pixels.rows() * shape.size(), [&](Int i) {
      std::vector<float> values(shape.size());
      l(i, 0) = source.read(list[first + i], values.data());
      std::transform(values.begin(), values.end(), pixels.line(i),
                     [](float v) { return static_cast<std::uint8_t>(v); });
    });
  });
  LoadedImages loaded{Images(DataSet(n, pixels, DType::f32, what), shape), {}, source.classes, skipped};
  if (source.labelled) loaded.y = DataSet(n, labels, what);
  return loaded;
}

bool is_png(const fs::path& path) {
  auto ending = path.extension();
  return ending == ".png" || ending == ".PNG";
}

std::string format_of(const std::vector<std::string>& paths, const ImageOptions& o) {
  if (o.format) return *o.format;
  if (fs::is_directory(paths[0]) || is_png(paths[0])) return "png";
  return fs::path(paths[0]).extension() == ".bin" ? "cifar" : "idx";
}

}  // namespace

LoadedImages load_images(const std::vector<std::string>& paths, const ImageOptions& o) {
  require(!paths.empty(), "vision.load: a path or a list of paths expected, got an empty list");
  require(o.rows.value_or(1) >= 1, "vision.load: rows >= 1 expected, got {}", o.rows.value_or(1));
  std::string format = format_of(paths, o);
  require(format == "cifar" || format == "idx" || format == "png",
          "vision.load: format: cifar, idx or png expected, got '{}'", format);
  auto only_for = [&](const char* option, bool given, bool used) {
    require(!given || used, "{}: the option '{}' has no meaning for {} files", paths[0], option, format);
  };
  only_for("labels", o.labels.has_value(), format == "idx");
  only_for("skip", o.skip, format != "idx");
  only_for("channels", o.channels.has_value(), format == "png");
  only_for("classes", !o.classes.empty(), format == "png");
  require(paths.size() == 1 || format != "idx",
          "vision.load: several paths are for CIFAR-10 batches and PNG files, got idx files");
  if (format == "idx") return load_idx(paths[0], o);
  std::unique_ptr<ImageSource> source;
  comm::together([&] { source = format == "png" ? png_source(paths, o) : cifar_source(paths, o); });
  return load_source(*source, paths[0], o);
}

}  // namespace kbcd::vision
