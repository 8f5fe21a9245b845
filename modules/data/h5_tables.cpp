// Tables of numbers and lists of text in HDF5 files.
#include "modules/data/h5.hpp"
#include "modules/data/h5_chunks.hpp"
#include "modules/data/h5_handle.hpp"

namespace kbcd {
namespace {

using namespace h5;

hid_t memory_type(DType dtype) {
  return dtype == DType::f32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

// How many bytes the elements of a dataset may have in a file of this size; and that its chunks do not exceed it.
// Before anything else is asked of a dataset: even its size may be looked up in other files.
void require_own_numbers(const std::string& where, hid_t dataset) {
  Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  check(properties >= 0, "{}: damaged", where);
  require(H5Pget_layout(properties) != H5D_VIRTUAL && H5Pget_external_count(properties) == 0,
          "{}: its numbers lie in another file; copy them into this one", where);
}

void require_plausible(const std::string& where, hid_t dataset, const H5Extent& extent, Int file_bytes) {
  constexpr Int small_chunk = 64 << 20;  // a chunk may be larger than the rows there are
  Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  check(properties >= 0, "{}: damaged", where);
  auto layout = H5Pget_layout(properties);
  int filters = layout == H5D_CHUNKED ? H5Pget_nfilters(properties) : 0;
  check(filters >= 0, "{}: damaged", where);
  Int most = filters == 0 ? file_bytes : file_bytes * best_ratio;
  std::vector<Int> sizes = extent.shape;
  sizes.push_back(extent.bytes);
  Int wanted = product(where, sizes);
  require(wanted <= most, "{}: {} bytes announced, but a file of {} bytes holds at most {}", where, wanted, file_bytes,
          most);
  if (layout != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(extent.shape.size());
  check(H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) == static_cast<int>(chunk.size()),
        "{}: damaged", where);
  sizes.assign(chunk.begin(), chunk.end());
  sizes.push_back(extent.bytes);
  require(product(where, sizes) <= most + small_chunk, "{}: chunks larger than the file could hold", where);
}

// A new dataset in chunks of about a megabyte, each with its checksum.
hid_t create_dataset(hid_t file, const std::string& where, const std::string& name, hid_t type,
                     std::vector<hsize_t> shape, hsize_t row_bytes) {
  constexpr hsize_t chunk_bytes = 1 << 20;
  std::vector<hsize_t> chunk = shape, most = shape;
  chunk[0] = std::clamp<hsize_t>(chunk_bytes / row_bytes, 1, std::max<hsize_t>(shape[0], 1));
  most[0] = H5S_UNLIMITED;
  shape[0] = 0;
  Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), most.data()), H5Sclose);
  Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  bool good =
      H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) >= 0 && H5Pset_fletcher32(properties) >= 0;
  hid_t made = good ? H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT) : -1;
  check(made >= 0, "{}: the dataset cannot be made", where);
  return made;
}

// `count` more rows at the end of a dataset.
void add_rows(hid_t dataset, const std::string& where, hid_t type, hsize_t count, const void* data) {
  std::vector<Int> shape;
  {
    Handle space(H5Dget_space(dataset), H5Sclose);
    shape = shape_of(where, space);
  }
  std::vector<hsize_t> grown(shape.begin(), shape.end()), first(shape.size(), 0), size = grown;
  first[0] = grown[0];
  grown[0] += count;
  size[0] = count;
  check(H5Dset_extent(dataset, grown.data()) >= 0, "{}: cannot grow", where);
  if (count == 0) return;
  Handle space(H5Dget_space(dataset), H5Sclose);
  Handle memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose);
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, size.data(), nullptr) >= 0 &&
            H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, data) >= 0,
        "{}: cannot be written", where);
}

}  // namespace

Int H5Extent::cols() const {
  Int all = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) all *= shape[i];
  return all;
}

std::int64_t H5File::open_dataset(const std::string& dataset) const {
  hid_t opened = open_object(dataset);
  if (H5Iget_type(opened) == H5I_DATASET) return opened;
  H5Oclose(opened);
  fail("{}: a dataset expected; the datasets of the file are {}", at(dataset), fmt::join(datasets(), ", "));
}

H5Extent H5File::extent(const std::string& dataset) const {
  Handle found(open_dataset(dataset), H5Dclose);
  require_own_numbers(at(dataset), found);
  Handle type(H5Dget_type(found), H5Tclose), space(H5Dget_space(found), H5Sclose);
  check(type >= 0 && space >= 0, "{}: damaged", at(dataset));
  H5Extent extent{shape_of(at(dataset), space), kind_of(type), static_cast<Int>(H5Tget_size(type))};
  require(!extent.shape.empty(), "{}: at least one dimension expected, got a single value", at(dataset));
  require(extent.bytes >= 1, "{}: damaged", at(dataset));
  require_plausible(at(dataset), found, extent, bytes_);
  return extent;
}

void H5File::append(const std::string& dataset, const Matrix& rows) {
  Matrix whole = rows.contiguous(rows.dtype());
  require(whole.cols() >= 1, "{}: a Matrix with at least one column expected, got {}", at(dataset), rows.shape());
  bool there = has(dataset);
  hid_t type = memory_type(whole.dtype());
  hsize_t count = whole.rows(), cols = whole.cols();
  Handle target(there ? open_dataset(dataset)
                      : create_dataset(id(), at(dataset), dataset, type, {count, cols}, cols * bytes_of(whole.dtype())),
                H5Dclose);
  Handle space(H5Dget_space(target), H5Sclose);
  auto shape = shape_of(at(dataset), space);
  require(shape.size() == 2 && shape[1] == whole.cols(), "{}: rows of {} numbers expected, got {}", at(dataset),
          shape.size() == 2 ? shape[1] : 0, rows.shape());
  dispatch(whole.dtype(), [&]<class T>() { add_rows(target, at(dataset), type, count, whole.view<T>().data); });
}

void H5File::write_texts(const std::string& dataset, const std::vector<std::string>& texts) {
  std::size_t longest = 1;
  for (auto& text : texts) {
    require(text.find('\0') == text.npos, "{}: a text with a zero byte in it cannot be stored", at(dataset));
    longest = std::max(longest, text.size());
  }
  std::string packed;
  for (auto& text : texts) packed += text + std::string(longest - text.size(), '\0');
  Handle type(text_type(longest), H5Tclose);
  Handle target(create_dataset(id(), at(dataset), dataset, type, {texts.size()}, longest), H5Dclose);
  add_rows(target, at(dataset), type, texts.size(), packed.data());
}

Matrix H5File::read(const std::string& dataset, Int first, Int count, DType dtype) const {
  auto here = extent(dataset);
  require(here.kind == 'f' || here.kind == 'i' || here.kind == 'u', "{}: numbers expected", at(dataset));
  require(first >= 0 && count >= 0 && first + count <= here.rows(), "{}: rows {}..{} asked for, it has {}", at(dataset),
          first + 1, first + count, here.rows());
  Matrix rows(count, here.cols(), dtype);
  if (rows.size() == 0) return rows;
  Handle found(open_dataset(dataset), H5Dclose);
  require_whole_chunks(at(dataset), found, here, bytes_, first, count);
  Handle space(H5Dget_space(found), H5Sclose);
  std::vector<hsize_t> start(here.shape.size(), 0), size(here.shape.begin(), here.shape.end());
  start[0] = first;
  size[0] = count;
  Handle memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose);
  bool selected = H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr) >= 0;
  dispatch(dtype, [&]<class T>() {
    T* to = rows.view<T>().data;
    auto call = [&] { return H5Dread(found, memory_type(dtype), memory, space, H5P_DEFAULT, to); };
    check(selected && guarded(at(dataset), call) >= 0, "{}: the numbers cannot be read", at(dataset));
  });
  return rows;
}

Int H5File::append_list(const std::string& dataset, std::int64_t type, const void* data, Int count) {
  constexpr hsize_t least = 4096;  // numbers in a chunk, also where there are few at first
  hsize_t wanted = std::max<hsize_t>(count, least);
  Handle target(has(dataset) ? open_dataset(dataset)
                             : create_dataset(id(), at(dataset), dataset, type, {wanted}, H5Tget_size(type)),
                H5Dclose);
  Handle space(H5Dget_space(target), H5Sclose);
  Int before = shape_of(at(dataset), space).at(0);
  add_rows(target, at(dataset), type, count, data);
  return before;
}

std::vector<std::string> H5File::read_texts(const std::string& dataset) const {
  auto here = extent(dataset);
  require(here.kind == 's' && here.shape.size() == 1, "{}: a list of texts of fixed length expected", at(dataset));
  Handle found(open_dataset(dataset), H5Dclose);
  require_own_numbers(at(dataset), found);
  Handle type(H5Dget_type(found), H5Tclose);
  require_whole_chunks(at(dataset), found, here, bytes_, 0, here.rows());
  std::vector<char> packed(here.rows() * here.bytes);
  auto call = [&] { return H5Dread(found, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()); };
  if (!packed.empty()) check(guarded(at(dataset), call) >= 0, "{}: cannot be read", at(dataset));
  std::vector<std::string> texts;
  for (Int i = 0; i < here.rows(); ++i) texts.push_back(unpadded(packed.data() + i * here.bytes, here.bytes));
  return texts;
}

}  // namespace kbcd
