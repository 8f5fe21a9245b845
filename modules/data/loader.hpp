// Reading data files: one loader a format, chosen by what the file begins with.
//
// A loader is one file that ends with `const RegisteredLoader …`. Loading is collective, and each rank keeps only its
// own rows. A loader that calls nothing collective may fail on any rank; one that does wraps what can fail in
// comm::together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "modules/data/byte_reader.hpp"
#include "modules/data/dataset.hpp"

namespace kbcd {

using ColumnName = std::variant<Int, std::string>;  // a number (from 0) or a name in the header

struct LoadOptions {
  std::optional<Int> rows = {};          // only the first so many
  std::optional<DType> dtype = {};       // default: f32 where it holds every value of the file's type, else f64
  std::optional<bool> scale = {};        // u8 values divided by 255; default: yes for images (three or more dimensions)
  std::optional<std::string> path = {};  // of the dataset in an HDF5 file
  std::optional<std::string> member = {};  // which array of an .npz file
  std::optional<bool> sparse = {};         // default: by the share of entries that are given
  std::optional<Int> features = {};        // default: the largest index in the file
  std::optional<bool> header = {};         // whether the first line names the columns; default: by its look
  std::vector<ColumnName> label = {};      // the columns that make y
  std::optional<bool> names = {};          // the only column holds labels, which may be names

  std::vector<std::pair<std::string, std::string>> given() const;  // those that are set: names and values
};

struct Loaded {
  DataSet x;
  std::optional<DataSet> y = {};          // where the file has labels
  std::vector<std::string> classes = {};  // where they are names: y holds numbers of these, from 0
};

Loaded load(const std::string& path, const LoadOptions& options);

// The beginning of a file, unpacked, and what its name ends with (".csv", without a ".gz" behind it).
struct FileStart {
  std::string_view bytes;
  std::string extension;
};

// How much a file looks like a format. Where two say `likely`, the extension decides: `named` wins over it.
enum class Match { no, likely, named, sure };

struct RegisteredLoader {
  using Matches = std::function<Match(const FileStart&)>;
  using Load = std::function<Loaded(const std::string& path, const LoadOptions& options)>;
  // `options`: those that the format uses besides rows and dtype.
  RegisteredLoader(const char* format, std::vector<std::string> options, Matches matches, Load load);
};

// Match::sure for files that begin with these bytes.
RegisteredLoader::Matches begins_with(std::string_view magic);

// An array of numbers behind a header, as in .npy and idx.
struct RawArray {
  char kind;  // 'u', 'i', 'f', 'b' (true or false)
  int bytes;  // of one number
  bool big_endian;
  bool column_major;
  std::vector<Int> shape;  // rows first; further dimensions make up the columns
};

DataSet read_array(ByteReader& in, const RawArray& array, const LoadOptions& options);
DataSet read_npy(ByteReader& in, const LoadOptions& options);  // from its magic on

}  // namespace kbcd
