// Arrays of numbers or texts behind a header, as in .npy, .npz and idx: each rank reads its own rows.
//
// Nothing here is collective but load_array.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "modules/data/class_names.hpp"
#include "modules/data/loader.hpp"

namespace kbcd {

struct RawArray {
  char kind;  // 'u', 'i', 'f', 'b' (true or false); 'U' (UTF-32) and 'S' (bytes) are texts
  Int bytes;  // of one element
  bool big_endian;
  bool column_major;
  std::vector<Int> shape;  // rows first; further dimensions make up the columns
  bool texts() const { return kind == 'U' || kind == 'S'; }
  std::string type() const;  // "f4", "U12"
};

// Numbers of an array by their places in the file. Reading goes forwards.
class NumberReader {
 public:
  NumberReader(ByteReader& in, const RawArray& array);  // `in` is at the first number
  Int count() const { return count_; }
  void read(Int first, Int count, std::vector<double>& to);

 private:
  ByteReader& in_;
  Int bytes_, start_, count_;
  bool swap_, wide_;
  double (*decode_)(const unsigned char*, bool);
  std::vector<unsigned char> raw_;
};

// The rows of an array; texts are class names, and x has their numbers on this rank.
struct ArrayRows {
  DataSet x;
  std::optional<ClassNames> names = {};
};

const Param& scale_option();
const Param& bytes_option();
const Param& names_option();
DType natural_dtype(const RawArray& array);  // f32 where it holds every value
DataSet read_array(ByteReader& in, const RawArray& array, const Params& options);
ArrayRows read_names(ByteReader& in, const RawArray& array, const Params& options);
std::string read_text(ByteReader& in, const RawArray& array);  // the next element, as UTF-8

RawArray read_npy_header(ByteReader& in);                   // from its magic on
ArrayRows read_npy(ByteReader& in, const Params& options);  // the same

// What `read`, which calls nothing collective, gives; the class names of all ranks are merged (collective).
Loaded load_array(const std::function<ArrayRows()>& read);

}  // namespace kbcd
