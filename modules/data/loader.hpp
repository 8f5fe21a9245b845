// Reading data files: one loader a format, chosen by what the file begins with.
//
// A loader is one file that ends with `static const RegisteredLoader …`. Each rank keeps only its own rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "modules/data/dataset.hpp"

namespace kbcd {

struct LoadOptions {
  std::optional<Int> rows;          // only the first so many
  std::optional<DType> dtype;       // default: f32 where it holds every value of the file's type, else f64
  std::optional<bool> scale;        // u8 values divided by 255; default: yes for images (three or more dimensions)
  std::optional<std::string> path;  // of the dataset in an HDF5 file
};

DataSet load(const std::string& path, const LoadOptions& options);

struct RegisteredLoader {
  using Matches = bool (*)(std::string_view first_bytes);
  using Load = DataSet (*)(const std::string& path, const LoadOptions& options);
  RegisteredLoader(const char* format, Matches matches, Load load);
};

// A file, plain or gzipped, read forwards. Errors name the file and the place.
class ByteReader {
 public:
  explicit ByteReader(const std::string& path);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;

  const std::string& path() const { return path_; }
  Int position() const { return position_; }
  void read(void* to, Int bytes, const char* what);  // all of them, or an error that says what is missing
  Int read_some(void* to, Int bytes);
  void skip_to(Int position);
  void require_more(Int bytes);  // before anything is allocated by what a header claims

 private:
  std::string path_;
  void* file_;
  bool compressed_ = false;
  Int position_ = 0, file_bytes_ = 0;
};

// An array of numbers behind a header, as in .npy and idx.
struct RawArray {
  char kind;  // 'u', 'i', 'f', 'b' (true or false)
  int bytes;  // of one number
  bool big_endian;
  bool column_major;
  std::vector<Int> shape;  // rows first; further dimensions make up the columns
};

DataSet read_array(ByteReader& in, const RawArray& array, const LoadOptions& options);

}  // namespace kbcd
