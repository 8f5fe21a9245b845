// Pictures in Lua: kbcd.vision, the parts of a pipeline of patch features.
#include "bindings/glue/def.hpp"
#include "modules/vision/convolution.hpp"
#include "modules/vision/image_loader.hpp"

namespace kbcd::lua {
namespace {

using vision::Images;

std::vector<std::string> texts(const char* what, const sol::object& value) {
  if (value.get_type() == sol::type::string) return {value.as<std::string>()};
  require(value.get_type() == sol::type::table, "{}: a string or a list of strings expected", what);
  auto list = value.as<sol::table>();
  std::vector<std::string> out;
  for (std::size_t i = 1; i <= list.size(); ++i) {
    auto entry = list.raw_get<sol::object>(i);
    require(entry.get_type() == sol::type::string, "{}: element {} of the list is not a string", what, i);
    out.push_back(entry.as<std::string>());
  }
  return out;
}

vision::ImageOptions image_options(const sol::optional<sol::table>& table) {
  Options options("vision.load", table, {"format", "rows", "labels", "channels", "classes", "skip"});
  vision::ImageOptions o;
  if (auto format = options.get<std::string>("format")) o.format = *format;
  if (auto rows = options.get<Int>("rows")) o.rows = *rows;
  if (auto labels = options.get<std::string>("labels")) o.labels = *labels;
  if (auto channels = options.get<Int>("channels")) o.channels = *channels;
  if (auto classes = options.get<sol::table>("classes")) o.classes = texts("vision.load: option classes", *classes);
  o.skip = options.get<bool>("skip").value_or(false);
  return o;
}

template <class T>
T needed(const Options& options, const char* owner, const char* key) {
  auto value = options.get<T>(key);
  require(value.has_value(), "{}: option {} is missing", owner, key);
  return *value;
}

void bind_images(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Images>("Images", sol::no_constructor);
  def_field(type, "n", "The number of pictures (or views) over all ranks.", &Images::n);
  def_field(type, "local_n", "The number of those of this rank.", &Images::local_n);
  def_field(type, "first", "The number of this rank's first one.", [](const Images& x) { return x.first() + 1; });
  def_field(type, "height", "The number of lines of pixels.", [](const Images& x) { return x.shape().height; });
  def_field(type, "width", "The number of pixels in a line.", [](const Images& x) { return x.shape().width; });
  def_field(type, "channels", "The number of values of a pixel.", [](const Images& x) { return x.shape().channels; });
  def_field(type, "views", "The number of views of each picture.", &Images::views);
  def_field(type, "shape", "These three: \"28x28x1\".", [](const Images& x) { return x.shape().text(); });
  def(lua, type, "Images:rows()",
      "A DataSet of the pixels, a picture a row: line after line, the channels of a pixel together.",
      [](const Images& x) { return x.rows(); });
  def(lua, type, "Images:subset(I)", "Pictures I, distributed over the ranks. All ranks call it.",
      [](const Images& x, const Index& pictures) { return Images(x.rows().subset(pictures), x.shape()); });
  type[sol::meta_function::to_string] = [](const Images& x) {
    return fmt::format("Images: {} of {}, {} here", x.n(), x.shape().text(), x.local_n());
  };
  refuse_unknown_fields(type);
}

void bind_loading(sol::state_view lua, sol::table table) {
  def(lua, table, "vision.load(path [, options])",
      "images, y, classes, skipped: pictures with values from 0 to 255 (Images), their class numbers from 0 (a DataSet; nil\n"
      "where there are none), the names of the classes (nil where there are none), and a list of the skipped files.\n"
      "path: a folder with a folder of PNG files for each class; a folder of PNG files, one of them, or a list of them, without\n"
      "labels; a CIFAR-10 binary batch (.bin) or a list of them; an idx\n"
      "file, whose labels are read from the file beside it (…images-idx3… -> …labels-idx1…). All ranks call it.\n"
      "options: format (\"png\", \"cifar\", \"idx\"; default: by the path), rows (only the first so many), labels (the file of\n"
      "labels of an idx file), channels (1 or 3: what PNG files are made into; default: as the first is), classes (names of\n"
      "folders, so that a test set has the numbers of the training set), skip (true: pictures that are damaged or of\n"
      "another size are skipped and listed in `skipped`, instead of an error).",
      [](sol::object path, sol::optional<sol::table> table, sol::this_state L) {
        auto loaded = vision::load_images(texts("vision.load: path", path), image_options(table));
        sol::variadic_results results;
        auto nil = sol::make_object(L, sol::lua_nil);
        results.push_back(sol::make_object(L, loaded.images));
        results.push_back(loaded.y ? sol::make_object(L, *loaded.y) : nil);
        results.push_back(loaded.classes.empty() ? nil : sol::make_object(L, sol::as_table(loaded.classes)));
        results.push_back(sol::make_object(L, sol::as_table(loaded.skipped)));
        return results;
      });
  def(lua, table, "vision.images(X, options)",
      "The rows of a DataSet as pictures (see Images:rows). options: height, width, channels = 1.",
      [](const DataSet& x, sol::table table) {
        Options o("vision.images", table, {"height", "width", "channels"});
        return Images(x, {needed<Int>(o, "vision.images", "height"), needed<Int>(o, "vision.images", "width"),
                          o.get<Int>("channels").value_or(1)});
      });
}

void bind_views(sol::state_view lua, sol::table table) {
  def(lua, table, "vision.random_crops(images, options)",
      "Random pieces of each picture, for training. options: size (24: 24 x 24 pixels), views = 1 (of each picture; they\n"
      "follow each other), mirror = true (each is mirrored with probability 1/2), seed. View v of picture i is the same on\n"
      "any number of ranks. Views are read from the pictures when needed, and take no memory. All ranks call it.",
      [](const Images& images, sol::table table) {
        Options o("vision.random_crops", table, {"size", "views", "mirror", "seed"});
        return vision::random_crops(images, needed<Int>(o, "vision.random_crops", "size"),
                                    o.get<Int>("views").value_or(1), o.get<bool>("mirror").value_or(true),
                                    checked_seed("vision.random_crops", o.get<Int>("seed")));
      });
  def(lua, table, "vision.fixed_crops(images, options)",
      "Ten views of each picture, for testing: its four corners, its centre, and these five mirrored. options: size,\n"
      "mirror = true (false: five views). vision.average averages their scores. All ranks call it.",
      [](const Images& images, sol::table table) {
        Options o("vision.fixed_crops", table, {"size", "mirror"});
        return vision::fixed_crops(images, needed<Int>(o, "vision.fixed_crops", "size"),
                                   o.get<bool>("mirror").value_or(true));
      });
  def(lua, table, "vision.mirrored(images)", "Two views: each picture, then its mirror image. All ranks call it.",
      [](const Images& images) { return vision::mirrored(images); });
  def(lua, table, "vision.repeat_rows(y, views)",
      "Each row of a DataSet `views` times: the labels of views. All ranks call it.",
      [](const DataSet& y, Int views) { return vision::repeat_rows(y, views); });
  def(lua, table, "vision.average(scores, views)",
      "The mean of this rank's rows of scores (a Matrix, as predict gives) over the views of each picture: this rank's rows\n"
      "of as many as there are pictures. All ranks call it.",
      [](const Matrix& scores, Int views) { return vision::average_views(scores, views); });
}

void bind_patches(sol::state_view lua, sol::table table) {
  def(lua, table, "vision.patches(images, options)",
      "A Matrix (f32) of random patches of size x size pixels, a row each, the same on every rank. options: count, size = 6,\n"
      "seed. All ranks call it.",
      [](const Images& images, sol::table table) {
        Options o("vision.patches", table, {"count", "size", "seed"});
        return vision::random_patches(images, needed<Int>(o, "vision.patches", "count"), o.get<Int>("size").value_or(6),
                                      checked_seed("vision.patches", o.get<Int>("seed")));
      });
  def(lua, table, "vision.all_patches(images, i, size)",
      "Every patch of this rank's i-th picture, a row each, one line of places after the other.",
      [](const Images& images, Int i, Int size) { return vision::all_patches(images, i - 1, size); });
  def(lua, table, "vision.normalize(P [, bias])",
      "Each row of an f32 Matrix becomes (p - mean) / sqrt(variance + bias), in place. bias = 10, for values from 0 to 255.",
      [](Matrix& patches, sol::optional<double> bias) {
        vision::normalize_patches(patches, bias.value_or(10));
        return patches;
      });
  def(lua, table, "vision.zca(P [, epsilon])",
      "mean, W: whitening of the rows of P, in f64: P:sub(mean) * W has the covariance I, but for epsilon = 0.1:\n"
      "W = V (D + epsilon)^-1/2 V', where V D V' is the covariance of the rows.",
      [](const Matrix& patches, sol::optional<double> epsilon) {
        auto whitening = vision::zca(patches, epsilon.value_or(0.1));
        return std::make_tuple(whitening.mean, whitening.map);
      });
  def(lua, table, "vision.convolve(images, options)",
      "A DataSet of features: for every filter f (a row of `filters`), z = f · p - offset for all patches p of a picture,\n"
      "normalised; max(0, z - alpha) and max(0, -z - alpha) are summed over the patches of each of pool x pool regions.\n"
      "F filters give 2 F pool^2 features. options: filters (F x size^2 channels), offsets (1 x F; 0), normalize = 10 (the\n"
      "bias of the patches' normalisation; false: none), alpha = 0.25, pool = 2.",
      [](const Images& images, sol::table table) {
        Options o("vision.convolve", table, {"filters", "offsets", "normalize", "alpha", "pool"});
        vision::Convolution c{needed<Matrix>(o, "vision.convolve", "filters"), {}};
        c.offsets = o.get<Matrix>("offsets").value_or(Matrix::zeros(1, c.filters.rows()));
        auto bias = table.raw_get<sol::object>("normalize");
        if (bias.get_type() == sol::type::boolean && !bias.as<bool>())
          c.normalize.reset();
        else
          c.normalize = o.get<double>("normalize").value_or(10);
        c.alpha = o.get<double>("alpha").value_or(0.25);
        c.pool = o.get<Int>("pool").value_or(2);
        return vision::convolve(images, c);
      });
}

}  // namespace

void bind_vision(sol::state_view lua, sol::table kbcd) {
  bind_images(lua, kbcd);
  sol::table table = lua.create_table();
  kbcd["vision"] = table;
  bind_loading(lua, table);
  bind_views(lua, table);
  bind_patches(lua, table);
}

}  // namespace kbcd::lua
