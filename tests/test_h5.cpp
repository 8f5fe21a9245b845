// HDF5: what is written comes back; loading by path, each rank its rows; and files that are broken, by every byte.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "core/elementwise.hpp"
#include "modules/data/h5.hpp"
#include "modules/data/loader.hpp"
#include "reference.hpp"

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

BOOST_AUTO_TEST_CASE(each_rank_loads_its_rows) {
  Name name;
  write_sample(name.path);
  LoadOptions options;
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"path", "/X, /g/y, /words"}));
  options.path = "/nothing";
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"/nothing", "/X, /g/y, /words"}));
  options.path = "/words";
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"/words", "/X, /g/y"}));
  options.path = "X";
  auto x = load(name.path, options).x;
  BOOST_TEST((x.n() == 11 && x.d() == 3 && x.dtype() == DType::f32));
  BOOST_TEST(largest_difference(x.local(), counting(x.local().rows(), 3, DType::f32, 3.0 * x.first())) == 0);
  options.rows = 5;
  BOOST_TEST(load(name.path, options).x.n() == 5);
  options.rows = 12;
  BOOST_TEST(fails_with([&] { load(name.path, options); }, {"12", "11"}));
  options.rows.reset();
  options.scale = true;
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
