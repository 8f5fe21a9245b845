// HDF5: a dataset of numbers, chosen by its path in the file (the option `path`) unless it is the only one. The first
// dimension counts the rows, further ones make up the columns; each rank reads only its own rows.
#include <cmath>

#include "modules/data/h5.hpp"
#include "modules/data/raw_array.hpp"

namespace kbcd {
namespace {

constexpr std::string_view magic = "\x89HDF\r\n\x1a\n";

std::string listed(const H5File& file) {
  auto names = file.datasets();
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string chosen(const H5File& file, const Params& options) {
  auto wanted = options.get<std::string>("path");
  if (!wanted) {
    auto names = file.datasets();
    require(names.size() == 1, "{}: say which dataset with path = …, or {}:/NAME in a command; the file has: {}",
            file.path(), file.path(), listed(file));
    return names[0];
  }
  std::string path = fmt::format("{}{}", wanted->starts_with('/') ? "" : "/", *wanted);
  require(file.has(path), "{}: there is no dataset '{}'; the file has: {}", file.path(), path, listed(file));
  return path;
}

Loaded load_hdf5(const std::string& path, const Params& options) {
  auto file = H5File::open(path);
  std::string dataset = chosen(file, options), where = path + ": " + dataset;
  auto extent = file.extent(dataset);
  require(extent.kind == 'f' || extent.kind == 'i' || extent.kind == 'u',
          "{}: a dataset of floating point or whole numbers expected; the file has: {}", where, listed(file));
  require(extent.rows() >= 1 && extent.cols() >= 1, "{}: at least one row and one column expected, it is {}", where,
          fmt::join(extent.shape, "x"));
  Int n = options.get<Int>("rows").value_or(extent.rows());
  require(n <= extent.rows(), "{}: rows = {} asked for, the dataset has {}", where, n, extent.rows());

  bool narrow = extent.kind == 'f' ? extent.bytes <= 4 : extent.bytes <= 2;
  bool byte = extent.kind == 'u' && extent.bytes == 1, wide = extent.kind != 'f' && extent.bytes >= 8;
  auto dtype = options.get<DType>("dtype").value_or(narrow ? DType::f32 : DType::f64);
  require_dense_room(where, n, extent.cols(), dtype, fewer_rows);
  auto layout = comm::layout(n);
  Matrix local = file.read(dataset, layout.first(comm::rank()), layout.count(comm::rank()), dtype);
  bool scaled = options.get<bool>("scale").value_or(byte && extent.shape.size() >= 3);
  require(!scaled || byte, "{}: scale = true is for u8 values, the dataset has {}{}", where, extent.kind, extent.bytes);
  dispatch(dtype, [&]<class T>() {
    auto v = local.view<T>();
    if (!scaled && !wide) return;
    for (Int i = 0; i < local.size(); ++i) {
      if (scaled) v.data[i] /= T(255);
      require(!wide || std::abs(v.data[i]) < T(0x1p53), "{}: the integer {} has more digits than a number here holds",
              where, v.data[i]);
    }
  });
  return {DataSet(n, local, where)};
}

const RegisteredLoader hdf5({
    .name = "HDF5",
    .gives = "X, one of its datasets",
    .options = {scale_option(),
                {.name = "path", .help = "of the dataset; by default the only one", .kind = Kind::text}},
    .part = "path",
    .matches = begins_with(magic),
    .load = load_hdf5,
});

}  // namespace
}  // namespace kbcd
