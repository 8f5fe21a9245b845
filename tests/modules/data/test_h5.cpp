// HDF5: what is written comes back; loading by path, each rank its rows; and files that are broken, by every byte.
#include <hdf5.h>
#include <unistd.h>
#include <zlib.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/elementwise.hpp"
#include "modules/data/h5.hpp"
#include "modules/data/loader.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

namespace fs = std::filesystem;

// A name of this process alone; the file is gone with the object.
struct Name {
  std::string path;
  Name() {
    static int count = 0;
    path = (fs::temp_directory_path() / fmt::format("kbcd_h5_{}_{}_{}", getpid(), comm::rank(), count++)).string();
  }
  ~Name() { fs::remove(path); }
  std::string bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& content) const { std::ofstream(path, std::ios::binary) << content; }
};

Matrix counting(Int rows, Int cols, DType dtype, double first = 0) {
  Matrix m(rows, cols, dtype);
  for (Int i = 0; i < rows; ++i)
    for (Int j = 0; j < cols; ++j) m.set(i, j, first + i * cols + j);
  return m;
}

void write_sample(const std::string& path) {
  auto file = H5File::create(path);
  file.append("/X", counting(7, 3, DType::f32));
  file.append("/X", counting(4, 3, DType::f32, 21));
  file.make_group("/g");
  file.append("/g/y", counting(11, 1, DType::f64, -5));
  file.set_attribute("/", "name", std::string("a name"));
  file.set_attribute("/g", "list", std::vector<double>{1, -2.5});
  file.write_texts("/words", {"one", "zwei", ""});
  file.close();
}

// A dataset made by HDF5's own functions; `shape` and `chunk` may be empty.
void put(hid_t file, const char* name, hid_t type, std::vector<hsize_t> shape, const void* data,
         std::vector<hsize_t> chunk = {}, const char* outside = nullptr) {
  hid_t space = shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(int(shape.size()), shape.data(), nullptr);
  hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  if (!chunk.empty()) {
    H5Pset_chunk(properties, int(chunk.size()), chunk.data());
    H5Pset_shuffle(properties);
    H5Pset_deflate(properties, 6);
  }
  if (outside) H5Pset_external(properties, outside, 0, H5F_UNLIMITED);
  hid_t made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  if (data) H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(made);
  H5Pclose(properties);
  H5Sclose(space);
}

// Many kinds of datasets in a file of HDF5's oldest format; some of them point to another file.
void write_foreign(const std::string& path, const std::string& other) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
  hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  std::vector<double> numbers(120);
  for (int i = 0; i < 120; ++i) numbers[i] = i;
  put(file, "packed", H5T_NATIVE_DOUBLE, {40, 3}, numbers.data(), {8, 3});
  unsigned char images[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  put(file, "images", H5T_NATIVE_UCHAR, {2, 3, 2}, images);
  put(file, "scalar", H5T_NATIVE_DOUBLE, {}, numbers.data());
  put(file, "empty", H5T_NATIVE_DOUBLE, {0, 3}, nullptr);
  std::vector<std::int64_t> wide(8, std::int64_t{1} << 60);
  put(file, "wide", H5T_NATIVE_INT64, {8}, wide.data());
  std::vector<double> nans(8, std::nan(""));
  put(file, "nan", H5T_NATIVE_DOUBLE, {8}, nans.data());
  put(file, "huge", H5T_NATIVE_DOUBLE, {hsize_t{1} << 40, 3}, nullptr, {1024, 3});
  put(file, "outside", H5T_NATIVE_DOUBLE, {4}, nullptr, {}, other.c_str());
  H5Lcreate_external(other.c_str(), "/x", file, "linked", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/packed", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/", file, "loop", H5P_DEFAULT, H5P_DEFAULT);
  hid_t text = H5Tcopy(H5T_C_S1), pair = H5Tcreate(H5T_COMPOUND, 16);
  H5Tset_size(text, H5T_VARIABLE);
  const char* words[2] = {"one", "two"};
  put(file, "words", text, {2}, words);
  H5Tinsert(pair, "a", 0, H5T_NATIVE_DOUBLE);
  H5Tinsert(pair, "b", 8, H5T_NATIVE_DOUBLE);
  put(file, "compound", pair, {4}, numbers.data());
  H5Tclose(pair);
  H5Tclose(text);
  H5Pclose(access);
  H5Fclose(file);
}

bool fails_with(const std::function<void()>& f, const std::vector<std::string>& texts) {
  try {
    f();
  } catch (const Error& e) {
    for (auto& text : texts)
      if (std::string(e.what()).find(text) == std::string::npos) {
        BOOST_TEST_MESSAGE("'" << text << "' expected in: " << e.what());
        return false;
      }
    return true;
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(h5)

BOOST_AUTO_TEST_CASE(what_is_written_comes_back) {
  Name name;
  write_sample(name.path);
  auto file = H5File::open(name.path);
  BOOST_TEST(largest_difference(file.read("/X", 0, 11, DType::f64), counting(11, 3, DType::f64)) == 0);
  BOOST_TEST(largest_difference(file.read("/X", 5, 4, DType::f32), counting(4, 3, DType::f32, 15)) == 0);
  BOOST_TEST(file.read("/X", 11, 0, DType::f32).rows() == 0);
  BOOST_TEST(largest_difference(file.read("/g/y", 0, 11, DType::f64), counting(11, 1, DType::f64, -5)) == 0);
  BOOST_TEST(std::get<std::string>(file.attribute("/", "name")) == "a name");
  BOOST_TEST((std::get<std::vector<double>>(file.attribute("/g", "list")) == std::vector<double>{1, -2.5}));
  BOOST_TEST((file.read_texts("/words") == std::vector<std::string>{"one", "zwei", ""}));
  BOOST_TEST((file.members("/") == std::vector<std::string>{"X", "g", "words"}));
  BOOST_TEST((file.datasets() == std::vector<std::string>{"/X", "/g/y", "/words"}));
  BOOST_TEST((file.attributes("/g") == std::vector<std::string>{"list"}));
  BOOST_TEST(file.has("/g/y"));
  BOOST_TEST(!file.has("/h/y"));
  BOOST_TEST((file.extent("/X").kind == 'f' && file.extent("/X").bytes == 4 && file.extent("/X").rows() == 11));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  Name name;
  write_sample(name.path);
  auto file = H5File::open(name.path);
  BOOST_TEST(fails_with([&] { file.read("/X", 5, 7, DType::f64); }, {name.path, "/X", "6..12", "11"}));
  BOOST_TEST(fails_with([&] { file.read("/Z", 0, 1, DType::f64); }, {name.path, "/Z", "X, g, words"}));
  BOOST_TEST(fails_with([&] { file.read("/g", 0, 1, DType::f64); }, {"/g", "dataset", "/g/y"}));
  BOOST_TEST(fails_with([&] { file.read("/words", 0, 1, DType::f64); }, {"/words", "numbers"}));
  BOOST_TEST(fails_with([&] { file.read_texts("/X"); }, {"/X", "texts"}));
  BOOST_TEST(fails_with([&] { file.attribute("/g", "none"); }, {"/g", "none", "missing"}));
  BOOST_TEST(fails_with([&] { file.append("/new", counting(1, 1, DType::f64)); }, {"/new"}));
  BOOST_TEST(fails_with([] { H5File::open("/nowhere/f.h5"); }, {"/nowhere/f.h5", "No such file"}));
  BOOST_TEST(fails_with([] { H5File::create("/nowhere/f.h5"); }, {"/nowhere/f.h5", "written"}));
  Name other;
  auto out = H5File::create(other.path);
  out.append("/A", counting(2, 3, DType::f64));
  BOOST_TEST(fails_with([&] { out.append("/A", counting(2, 4, DType::f64)); }, {"/A", "3", "2x4"}));
  out.close();
  BOOST_TEST(fails_with([&] { out.append("/A", counting(2, 3, DType::f64)); }, {"closed"}));
}

// Rows 0..11 of which row i has i mod 4 entries, from column i mod 3 on.
Matrix with_holes() {
  Matrix m = Matrix::zeros(12, 8, DType::f64);
  for (Int i = 0; i < 12; ++i)
    for (Int k = 0; k < i % 4; ++k) m.set(i, i % 3 + 2 * k, 1.5 * i - k);
  return m;
}

BOOST_AUTO_TEST_CASE(sparse_rows_come_back) {
  Name name;
  Matrix expected = with_holes();
  auto out = H5File::create(name.path);
  for (Int first : {0, 1, 5})  // the first piece has no entry
    out.append("/S", Csr::from_dense(expected.row_block(first, first == 0 ? 1 : first == 1 ? 4 : 7)));
  out.close();
  auto file = H5File::open(name.path);
  BOOST_TEST(file.sparse_rows("/S") == 12);
  for (Int first = 0; first < 12; ++first)
    for (Int count = 0; count <= 12 - first; ++count) {
      auto rows = file.read_sparse("/S", 8, first, count, DType::f64);
      BOOST_TEST(largest_difference(rows.dense(), expected.row_block(first, count)) == 0);
    }
  BOOST_TEST((file.read_sparse("/S", 8, 0, 12, DType::f32).dtype() == DType::f32));
  BOOST_TEST((file.extent("/S/columns").kind == 'i' && file.extent("/S/starts").shape == std::vector<Int>{13}));
  BOOST_TEST(fails_with([&] { file.read_sparse("/S", 8, 10, 3, DType::f64); }, {"/S", "11..13", "12"}));
  BOOST_TEST(fails_with([&] { file.read_sparse("/S", 6, 0, 12, DType::f64); }, {"/S/columns", "0..5", "6"}));
  BOOST_TEST(fails_with([&] { file.read_sparse("/S", Int{1} << 40, 0, 12, DType::f64); }, {"/S", "columns"}));
}

BOOST_AUTO_TEST_CASE(each_rank_loads_its_rows) {
  Name name;
  write_sample(name.path);
  Values options;
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"path", "/X, /g/y, /words"}));
  options.insert_or_assign("path", "/nothing");
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"/nothing", "/X, /g/y, /words"}));
  options.insert_or_assign("path", "/words");
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"/words", "/X, /g/y"}));
  options.insert_or_assign("path", "X");
  auto x = load(name.path, options).x;
  BOOST_TEST((x.n() == 11 && x.d() == 3 && x.dtype() == DType::f32));
  BOOST_TEST(largest_difference(x.local(), counting(x.local().rows(), 3, DType::f32, 3.0 * x.first())) == 0);
  options.insert_or_assign("rows", 5);
  BOOST_TEST(load(name.path, options).x.n() == 5);
  options.insert_or_assign("rows", 12);
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"12", "11"}));
  options.erase("rows");
  options.insert_or_assign("scale", true);
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"u8"}));
}

// Everything is checksummed: a file with any byte changed, or cut anywhere, is refused or reads as it was.
BOOST_AUTO_TEST_CASE(damage_is_noticed) {
  Name good, bad;
  write_sample(good.path);
  std::string bytes = good.bytes();
  auto survives = [&](const std::string& content) {
    bad.write(content);
    try {
      auto file = H5File::open(bad.path);
      bool same = largest_difference(file.read("/X", 0, 11, DType::f64), counting(11, 3, DType::f64)) == 0 &&
                  largest_difference(file.read("/g/y", 0, 11, DType::f64), counting(11, 1, DType::f64, -5)) == 0 &&
                  file.read_texts("/words").at(1) == "zwei" &&
                  std::get<std::string>(file.attribute("/", "name")) == "a name";
      BOOST_TEST(same);
      return true;
    } catch (const Error& e) {
      BOOST_TEST(std::string(e.what()).find(bad.path) != std::string::npos);
      return false;
    }
  };
  BOOST_TEST(survives(bytes));
  for (std::size_t cut = 0; cut < bytes.size(); cut += 61) BOOST_TEST(!survives(bytes.substr(0, cut)));
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    survives(changed);
  }
}

// Rank 0's text, once rank 0 has come here: loading is collective, so every rank must name the same file.
std::string rank_0(std::string text) {
  comm::bcast(text, 0);
  return text;
}

// Files of others: the oldest format, which has no checksums.
BOOST_AUTO_TEST_CASE(what_others_write) {
  Name name, other;
  if (comm::rank() == 0) write_foreign(name.path, other.path);
  std::string path = rank_0(name.path);
  Values options;
  auto loaded = [&](const std::string& dataset) {
    options.insert_or_assign("path", dataset);
    return load(path, options).x;
  };
  auto refused = [&](const std::string& dataset, std::vector<std::string> texts) {
    texts.push_back(path);
    return fails_with([&] { loaded(dataset); }, texts);
  };
  auto x = loaded("/packed");
  BOOST_TEST((x.n() == 40 && x.d() == 3));
  BOOST_TEST(largest_difference(x.local(), counting(x.local().rows(), 3, DType::f64, 3.0 * x.first())) == 0);
  auto images = loaded("/images");  // u8 of three dimensions: scaled
  BOOST_TEST((images.n() == 2 && images.d() == 6 && images.dtype() == DType::f32));
  if (images.local().rows() > 0) BOOST_TEST(images.local().get(0, 5) == double(float(5 + 6 * images.first()) / 255.f));
  BOOST_TEST(refused("/scalar", {"/scalar", "dimension"}));
  BOOST_TEST(refused("/empty", {"/empty", "at least one row"}));
  BOOST_TEST(refused("/words", {"/words", "numbers expected", "/packed"}));
  BOOST_TEST(refused("/wide", {"/wide", "digits"}));
  BOOST_TEST(refused("/nan", {"/nan", "finite"}));
  BOOST_TEST(refused("/huge", {"/huge", "announced"}));
  BOOST_TEST(refused("/outside", {"/outside", "another file"}));
  BOOST_TEST(refused("/linked", {"/linked", "link", "not followed"}));
  BOOST_TEST(refused("/soft", {"/soft", "not followed"}));
  BOOST_TEST(refused("/loop/packed", {"/loop", "not followed"}));
  BOOST_TEST(refused("/compound", {"/compound", "numbers expected"}));
}

// HDF5 itself would read beyond the end of such a chunk.
BOOST_AUTO_TEST_CASE(chunks_that_unpack_to_less_than_their_shape_are_refused) {
  for (uLong bytes : {192, 191, 96, 0}) {
    Name name;
    hid_t file = H5Fcreate(name.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t shape[2] = {8, 3}, at[2] = {0, 0};
    hid_t space = H5Screate_simple(2, shape, nullptr), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 2, shape);
    H5Pset_deflate(properties, 6);
    hid_t made = H5Dcreate2(file, "/x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    std::vector<unsigned char> plain(192), packed(compressBound(192));
    uLongf length = packed.size();
    compress(packed.data(), &length, plain.data(), bytes);
    H5Dwrite_chunk(made, H5P_DEFAULT, 0, at, length, packed.data());
    H5Dclose(made);
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
    auto in = H5File::open(name.path);
    if (bytes == 192)
      BOOST_TEST(largest_difference(in.read("/x", 0, 8, DType::f64), Matrix::zeros(8, 3, DType::f64)) == 0);
    else
      BOOST_TEST(fails_with([&] { in.read("/x", 0, 8, DType::f64); }, {name.path, "/x", "damaged", "192"}));
  }
}

BOOST_AUTO_TEST_CASE(damaged_files_of_others_never_crash) {
  Name good, bad, other;
  write_foreign(good.path, other.path);
  std::string bytes = rank_0(good.bytes());
  int noticed = 0;
  std::string path = rank_0(bad.path);
  auto survives = [&](const std::string& content) {
    comm::barrier();  // nobody reads the last one any more
    if (comm::rank() == 0) bad.write(content);
    comm::barrier();
    Values options;
    options.insert_or_assign("path", "/packed");
    try {
      load(path, options);
      return true;
    } catch (const Error& e) {
      BOOST_TEST(std::string(e.what()).find(path) != std::string::npos);
      return false;
    }
  };
  for (std::size_t cut = 0; cut < bytes.size(); cut += bytes.size() / 40) BOOST_TEST(!survives(bytes.substr(0, cut)));
  for (std::size_t at = 0; at < bytes.size(); at += 5) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (at % 2 ? 0xFF : 1 << at % 8));
    noticed += !survives(changed);
  }
  BOOST_TEST(noticed > 30);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
