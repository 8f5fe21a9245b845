// ByteMatrix: rows of 8-bit numbers, kept as bytes, that stand for real ones:
//
//   x = scale (byte + shift)
//
// u8 values have shift 0; of i8 values, −128 … 127, the byte is the value + 128, and the shift −128.
#pragma once

#include <array>
#include <memory>

#include "core/matrix.hpp"

namespace kbcd {

struct ByteCode {
  double scale = 1;
  int shift = 0;
  bool operator==(const ByteCode&) const = default;
};

class ByteMatrix {
 public:
  // shift: 0 or −128; scale > 0.
  ByteMatrix(Int rows, Int cols, ByteCode code);  // bytes not yet set, but zeros behind each row

  Int rows() const { return words_.rows(); }
  Int cols() const { return cols_; }
  const ByteCode& code() const { return code_; }
  Int step() const { return words_.cols() * 4; }  // from row to row, in bytes
  std::uint8_t* line(Int i) const { return reinterpret_cast<std::uint8_t*>(words_.view<float>().line(i)); }

  // Row i as real numbers, of the type that they would have been loaded in: scale (byte + shift), rounded once.
  template <class T>
  void decode(Int i, T* to) const;
  Matrix decode(Int first, Int count, DType dtype) const;
  // Sets row i to the bytes of these numbers; an Error where no byte stands for one.
  template <class T>
  void encode(Int i, const T* from);

  // Four bytes each, to be copied and sent, not to be computed with; a matrix of other words with the same code.
  const Matrix& words() const { return words_; }
  ByteMatrix with(const Matrix& words) const;

 private:
  Int cols_;
  ByteCode code_;
  Matrix words_;  // rows x ⌈cols / 4⌉, f32
  struct Values {
    std::array<float, 256> f32;
    std::array<double, 256> f64;
  };
  template <class T>
  const T* values() const;
  std::shared_ptr<const Values> values_;  // of each byte
};

}  // namespace kbcd
