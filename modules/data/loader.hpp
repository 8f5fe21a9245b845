// Reading data files: one loader for each format, chosen by the first bytes of the file.
//
// A loader is one file that ends with `const RegisteredLoader …`, which declares its options; checks, help and the
// commands' `--option` come from that. Loading is collective, and each rank keeps only its own rows. A loader that
// calls nothing collective may fail on any rank; one that does wraps what can fail in comm::together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/data/byte_reader.hpp"
#include "modules/data/dataset.hpp"
#include "modules/params/params.hpp"

namespace kbcd {

struct Loaded {
  DataSet x;
  std::optional<DataSet> y = {};          // where the file has labels
  std::vector<std::string> classes = {};  // where they are names: y holds numbers of these, from 0
  std::vector<std::string> columns = {};  // the names of the columns of x, where the file has a header
  Values settled = {};  // options that the loader chose by the content, which other files of the same data need, too
};

Loaded load(const std::string& path, const Values& options);

// The beginning of a file, unpacked, and what its name ends with (".csv", without a ".gz" behind it).
struct FileStart {
  std::string_view bytes;
  std::string extension;
};

// How much a file looks like a format. Where two say `likely`, the extension decides: `named` wins over it.
enum class Match { no, likely, named, sure };

struct Loader {
  std::string name, gives;          // "npz", "X, one of its arrays"
  std::vector<Param> options = {};  // besides rows and dtype, which all have
  // The option that PART of FILE:PART sets in a command, and that which says how many columns X has.
  std::optional<std::string> part = {}, columns = {};
  std::function<Match(const FileStart&)> matches;
  std::function<Loaded(const std::string& path, const Params& options)> load;
};

const std::vector<Loader>& loaders();              // by name
const std::vector<Param>& common_options();        // rows and dtype
const Loader& loader_of(const std::string& path);  // by what the file begins with

// An Error with the remedy for a file of a known format that is not read here (Parquet, Excel, pickle …); foreign.cpp.
void refuse_foreign(const std::string& path, const FileStart& start);
void refuse_foreign_name(const std::string& path, const std::string& extension);  // by what its name ends with

struct RegisteredLoader {
  explicit RegisteredLoader(Loader loader);
};

// Match::sure for files that begin with these bytes.
std::function<Match(const FileStart&)> begins_with(std::string_view magic);

}  // namespace kbcd
