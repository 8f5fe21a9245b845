// Files of formats that are not read: each is refused with what converts it, and text that begins so is not.
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

void check_refused(const Bytes& content, const std::string& what, const std::string& remedy,
                   const std::string& extension = "") {
  for (bool gzip : {false, true}) {
    File file(content, gzip, extension + (gzip ? ".gz" : ""));
    std::string message = refusal(file.path);
    for (auto& text : {what, remedy, gzip ? std::string("gunzip it, then") : "convert it first: "})
      BOOST_TEST(message.find(text) != message.npos, "'" << text << "' expected in: " << message);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(foreign)

BOOST_AUTO_TEST_CASE(the_remedy_is_named) {
  Bytes zeros(100, '\0');
  check_refused("PAR1\x15" + zeros + "PAR1", "Parquet", "pandas.read_parquet(\"", ".parquet");
  check_refused("ARROW1" + zeros, "Feather", "pandas.read_feather(\"");
  check_refused("\x80\x04\x95" + zeros, "pickle", "numpy.save", ".pkl");
  check_refused("\x80\x05\x95" + zeros, "pickle", "read_pickle", ".joblib");
  check_refused("MATLAB 5.0 MAT-file, Platform: posix" + zeros, "MAT-file", "scipy.io.loadmat", ".mat");
  check_refused("MATLAB 7.3 MAT-file, Platform" + zeros, "7.3", "h5py", ".mat");
  check_refused("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n", "Matrix Market", "mmread", ".mtx");
  check_refused("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + zeros, "Excel", "read_excel", ".xls");
  check_refused(Bytes("SQLite format 3") + zeros, "SQLite", "sqlite3 -header -csv");
  check_refused("BZh91AY&SY" + zeros, "bzip2", "bunzip2");
  check_refused("\xFD" + ("7zXZ" + zeros), "xz", "unxz");
  check_refused("\x28\xB5\x2F\xFD" + zeros, "zstd", "unzstd");
}

BOOST_AUTO_TEST_CASE(zip_archives_without_arrays) {
  for (bool deflated : {false, true}) {
    Zip zip{.deflated = deflated};
    check_refused(zip.of({{"[Content_Types].xml", "<x/>"}, {"xl/workbook.xml", "<x/>"}}), "workbook", "read_excel",
                  ".xlsx");
    check_refused(zip.of({{"data.csv", "1,2\n"}}), "zip archive", "unzip ", ".zip");
    check_refused(zip.of({{"archive/data.pkl", "x"}}), "PyTorch", "torch.load", ".pt");
  }
}

// Where the content says nothing, the name does; but a file that is known by its content is read.
BOOST_AUTO_TEST_CASE(the_name_decides_last) {
  for (const char* extension : {".pkl", ".joblib"})
    check_refused("x\x9c" + Bytes(50, '\0'), "by its name a Python pickle", "numpy.save", extension);
  check_refused(Bytes(4, '\0') + "\1\2\3", "by its name a MAT-file", "loadmat", ".mat");
  Loaded loaded = load(File(npy("'|u1'", "(2,)", "ab"), false, ".pkl").path, {});
  BOOST_TEST(loaded.x.n() == 2);
}

BOOST_AUTO_TEST_CASE(text_that_begins_so_is_read) {
  for (const char* begin : {"PAR1", "ARROW1", "ORC", "RDX", "BZh", "FEA1"}) {
    Loaded loaded = load(File(std::string(begin) + ",b\n1,2\n", false, ".csv").path, {});
    BOOST_TEST(loaded.columns.at(0) == begin);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
