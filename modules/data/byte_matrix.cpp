#include "modules/data/byte_matrix.hpp"

#include <algorithm>
#include <cmath>

namespace kbcd {

ByteMatrix::ByteMatrix(Int rows, Int cols, ByteCode code)
    : cols_(cols), code_(code), words_(rows, (cols + 3) / 4, DType::f32) {
  require(std::isfinite(code.scale) && code.scale > 0 && (code.shift == 0 || code.shift == -128),
          "bytes: a scale > 0 and a shift of 0 or -128 expected, got {} and {}", code.scale, code.shift);
  auto values = std::make_shared<Values>();
  for (int byte = 0; byte < 256; ++byte) {
    values->f64[byte] = code.scale * (byte + code.shift);
    values->f32[byte] = static_cast<float>(values->f64[byte]);
  }
  values_ = values;
  for (Int i = 0; i < rows; ++i) std::fill(line(i) + cols, line(i) + step(), 0);
}

template <class T>
const T* ByteMatrix::values() const {
  if constexpr (std::is_same_v<T, float>)
    return values_->f32.data();
  else
    return values_->f64.data();
}

template <class T>
void ByteMatrix::decode(Int i, T* to) const {
  const std::uint8_t* from = line(i);
  const T* value = values<T>();
  for (Int j = 0; j < cols_; ++j) to[j] = value[from[j]];
}

template <class T>
void ByteMatrix::encode(Int i, const T* from) {
  std::uint8_t* to = line(i);
  const T* value = values<T>();
  for (Int j = 0; j < cols_; ++j) {
    double byte = std::round(from[j] / code_.scale - code_.shift);
    bool found = byte >= 0 && byte < 256 && value[static_cast<int>(byte)] == from[j];
    require(found, "column {} is {}, and no byte stands for it: {} (byte + {}) expected", j + 1, from[j], code_.scale,
            code_.shift);
    to[j] = static_cast<std::uint8_t>(byte);
  }
}

Matrix ByteMatrix::decode(Int first, Int count, DType dtype) const {
  Matrix out(count, cols_, dtype);
  dispatch(dtype, [&]<class T>() {
    parallel_for(count, out.size(), [&](Int i) { decode(first + i, out.view<T>().line(i)); });
  });
  return out;
}

ByteMatrix ByteMatrix::with(const Matrix& words) const {
  require(words.cols() == words_.cols(), "ByteMatrix: rows of {} words expected, got {}", words_.cols(), words.cols());
  ByteMatrix other = *this;
  other.words_ = words.contiguous(DType::f32);
  return other;
}

template void ByteMatrix::decode(Int, float*) const;
template void ByteMatrix::decode(Int, double*) const;
template void ByteMatrix::encode(Int, const float*);
template void ByteMatrix::encode(Int, const double*);

}  // namespace kbcd
