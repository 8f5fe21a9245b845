// HDF5 files: groups, attributes, tables of numbers and lists of text. Errors name the file and the object.
//
// What this writes is checksummed throughout (HDF5's newer metadata, Fletcher-32 over the numbers), so that a damaged
// file is noticed. What it reads is not trusted: types and shapes are checked, and nothing is allocated that the file
// is too short to hold. Filters from plugins, links by name, and numbers that lie in other files, are refused.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/csr.hpp"

namespace kbcd {

using H5Value = std::variant<double, std::string, std::vector<double>>;

struct H5Extent {
  std::vector<Int> shape;
  char kind;  // 'f', 'i', 'u' (numbers), 's' (text of fixed length), '?' (anything else)
  Int bytes;  // of one element

  Int rows() const { return shape[0]; }
  Int cols() const;  // the further dimensions together
};

class H5File {
 public:
  static H5File create(const std::string& path);
  // To read; own: as create() makes them, with a checksum for all of its structure. HDF5 believes older forms, which
  // have none, whatever they say: a damaged one can lead it astray or in circles.
  static H5File open(const std::string& path, bool own = false);
  H5File(H5File&& other) noexcept;
  H5File& operator=(H5File&&) = delete;
  ~H5File();
  void close();  // with an error if what was written does not reach the file

  const std::string& path() const { return path_; }
  bool has(const std::string& object) const;
  std::vector<std::string> members(const std::string& group) const;
  std::vector<std::string> datasets() const;  // of the whole file, by path

  void make_group(const std::string& group);
  void set_attribute(const std::string& object, const std::string& name, const H5Value& value);
  H5Value attribute(const std::string& object, const std::string& name) const;
  std::vector<std::string> attributes(const std::string& object) const;

  void append(const std::string& dataset, const Matrix& rows);  // creates it when it is not there
  void write_texts(const std::string& dataset, const std::vector<std::string>& texts);
  H5Extent extent(const std::string& dataset) const;
  // Rows [first, first + count) of a dataset of numbers, converted.
  Matrix read(const std::string& dataset, Int first, Int count, DType dtype) const;
  std::vector<std::string> read_texts(const std::string& dataset) const;

  // Sparse rows are a group of three lists: `values`, `columns` (from 0), and `starts`, where row i has the entries
  // starts[i] .. starts[i + 1] - 1.
  void append(const std::string& group, const Csr& rows);
  Int sparse_rows(const std::string& group) const;  // how many, and that the lists fit together
  Csr read_sparse(const std::string& group, Int cols, Int first, Int count, DType dtype) const;

 private:
  H5File(std::string path, std::int64_t id, Int bytes);
  std::string at(const std::string& object) const { return path_ + ": " + object; }
  // Adds to a list of numbers, which the first ones make; gives the length that it had before.
  Int append_list(const std::string& dataset, std::int64_t type, const void* data, Int count);
  std::vector<Int> read_whole_numbers(const std::string& dataset, Int first, Int count, Int most) const;
  bool is_hard(const std::string& link) const;
  std::int64_t open_object(const std::string& object) const;
  std::int64_t open_dataset(const std::string& dataset) const;
  std::int64_t id() const;

  std::string path_;
  std::int64_t id_;
  Int bytes_;           // of the file, when it was opened
  int crashes_before_;  // see h5_guard.hpp
};

}  // namespace kbcd
