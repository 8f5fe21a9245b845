// Files of known formats that are not read here: each is refused with the command or the line of Python that converts
// it.
#include <algorithm>
#include <string_view>

#include "modules/data/loader.hpp"

namespace kbcd {
namespace {

using namespace std::string_view_literals;

struct Foreign {
  std::string_view magic;  // what the file begins with
  bool binary;             // text may begin so, too: the file must have a zero byte
  std::string_view what, remedy;
  std::string_view extensions = {};  // of such files, each with a blank behind it
};

constexpr auto pickled =
    "numpy.save(\"X.npy\", X) saves an array, scipy.sparse.save_npz a sparse matrix, and "
    "pandas.read_pickle(\"OLD\").to_csv(\"data.csv\", index=False) a table"sv;

constexpr Foreign table[] = {
    {"PAR1"sv, true, "a Parquet file", "pandas.read_parquet(\"OLD\").to_csv(\"data.csv\", index=False)", ".parquet "},
    {"PARE"sv, true, "an encrypted Parquet file", "pandas.read_parquet(\"OLD\").to_csv(\"data.csv\", index=False)"},
    {"ARROW1"sv, true, "an Arrow (Feather) file", "pandas.read_feather(\"OLD\").to_csv(\"data.csv\", index=False)",
     ".arrow .feather "},
    {"\xFF\xFF\xFF\xFF"sv, true, "a stream of Arrow",
     "pyarrow.ipc.open_stream(\"OLD\").read_pandas().to_csv(\"data.csv\", index=False)"},
    {"FEA1"sv, true, "a Feather file", "pandas.read_feather(\"OLD\").to_csv(\"data.csv\", index=False)"},
    {"ORC"sv, true, "an ORC file", "pandas.read_orc(\"OLD\").to_csv(\"data.csv\", index=False)"},
    {"MATLAB 7.3 MAT-file"sv, false, "a MAT-file of version 7.3",
     "numpy.save(\"X.npy\", h5py.File(\"OLD\")[\"X\"][()].T), where X is the name of the array"},
    {"MATLAB 5.0 MAT-file"sv, false, "a MAT-file",
     "numpy.save(\"X.npy\", scipy.io.loadmat(\"OLD\")[\"X\"]), where X is the name of the array", ".mat "},
    {"%%MatrixMarket"sv, false, "a Matrix Market file",
     "scipy.sparse.save_npz(\"X.npz\", scipy.sparse.csr_matrix(scipy.io.mmread(\"OLD\")))"},
    {"\x80\x02"sv, false, "a Python pickle", pickled, ".pkl .pickle .joblib "},
    {"\x80\x03"sv, false, "a Python pickle", pickled},
    {"\x80\x04"sv, false, "a Python pickle", pickled},
    {"\x80\x05"sv, false, "a Python pickle", pickled},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, false, "an Excel file (.xls)",
     "pandas.read_excel(\"OLD\").to_csv(\"data.csv\", index=False)", ".xls .xlsx .ods "},
    {"SQLite format 3"sv, true, "an SQLite database", "sqlite3 -header -csv OLD 'SELECT * FROM name' >data.csv"},
    {"RDX"sv, true, "an R workspace", "in R: load(\"OLD\"); write.csv(x, \"data.csv\", row.names = FALSE)"},
    {"BZh"sv, true, "packed by bzip2", "bunzip2 OLD"},
    {"\xFD"
     "7zXZ"sv,
     false, "packed by xz", "unxz OLD"},
    {"\x28\xB5\x2F\xFD"sv, false, "packed by zstd", "unzstd OLD"},
    {"7z\xBC\xAF\x27\x1C"sv, false, "a 7z archive", "7z x OLD"},
    {"Rar!\x1A\x07"sv, false, "a RAR archive", "unrar x OLD"},
};

[[noreturn]] void refuse(const std::string& path, std::string_view what, std::string remedy) {
  bool gzipped = path.ends_with(".gz");
  std::string plain = gzipped ? path.substr(0, path.size() - 3) : path;
  for (auto at = remedy.find("OLD"); at != remedy.npos; at = remedy.find("OLD", at + plain.size()))
    remedy.replace(at, 3, plain);
  fail("{}: {}, which is not read; convert it first: {}{}", path, what, gzipped ? "gunzip it, then " : "", remedy);
}

// A zip archive without arrays of NumPy: a workbook, or packed files.
void refuse_zip(const std::string& path, const FileStart& start) {
  constexpr std::size_t header = 30, length_at = 26;
  auto bytes = start.bytes;
  if (!bytes.starts_with("PK\3\4") || bytes.size() < header) return;
  auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  auto name = bytes.substr(header, byte(length_at) | byte(length_at + 1) << 8);
  if (name.ends_with(".npy")) return;
  if (start.extension == ".npz") return;  // its loader says what is wrong
  auto has = [&](std::string_view text) { return bytes.find(text) != bytes.npos; };
  if (name == "[Content_Types].xml" || has("xl/workbook") || has("opendocument.spreadsheet"))
    refuse(path, "a workbook (Excel, LibreOffice)", "pandas.read_excel(\"OLD\").to_csv(\"data.csv\", index=False)");
  if (name.ends_with("/data.pkl"))
    refuse(path, "a file of PyTorch", "numpy.save(\"X.npy\", torch.load(\"OLD\").numpy())");
  refuse(path, "a zip archive", "unzip OLD");
}

}  // namespace

void refuse_foreign(const std::string& path, const FileStart& start) {
  bool binary = start.bytes.find('\0') != start.bytes.npos;
  for (auto& foreign : table)
    if (start.bytes.starts_with(foreign.magic) && (binary || !foreign.binary))
      refuse(path, foreign.what, std::string(foreign.remedy));
  refuse_zip(path, start);
}

void refuse_foreign_name(const std::string& path, const std::string& extension) {
  for (auto& foreign : table)
    if (!extension.empty() && foreign.extensions.find(extension + " ") != foreign.extensions.npos)
      refuse(path, fmt::format("by its name {}", foreign.what), std::string(foreign.remedy));
}

}  // namespace kbcd
