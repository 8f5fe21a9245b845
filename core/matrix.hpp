// Matrix: a dense local matrix of f32 or f64, row-major, as a handle on a shared buffer (copying it copies no
// numbers).
//
// A view (`t`, `block`) shares the buffer. Physically every matrix is rows of `ld` numbers; `transposed` says
// that the logical (i, j) is the physical (j, i), so that one of the two directions is always contiguous.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/parallel.hpp"

namespace kbcd {

enum class DType { f32, f64 };

const char* name(DType type);
DType parse_dtype(std::string_view text);
inline std::size_t bytes_of(DType type) {
  return type == DType::f32 ? 4 : 8;
}
template <class T>
constexpr DType dtype_of = std::is_same_v<T, float> ? DType::f32 : DType::f64;

// Calls f.operator()<float>() or <double>().
template <class F>
decltype(auto) dispatch(DType type, F&& f) {
  return type == DType::f32 ? f.template operator()<float>() : f.template operator()<double>();
}

// What arithmetic works on: logical shape, where the numbers are, and which direction is contiguous.
template <class T>
struct View {
  T* data;
  Int rows, cols, ld;
  bool transposed = false;

  T& operator()(Int i, Int j) const { return transposed ? data[j * ld + i] : data[i * ld + j]; }
  View t() const { return {data, cols, rows, ld, !transposed}; }
  // The physical rows, each contiguous.
  Int lines() const { return transposed ? cols : rows; }
  Int length() const { return transposed ? rows : cols; }
  T* line(Int i) const { return data + i * ld; }
  View rows_from(Int first, Int count) const {
    return {data + (transposed ? first : first * ld), count, cols, ld, transposed};
  }
  View cols_from(Int first, Int count) const { return t().rows_from(first, count).t(); }
};

class Matrix {
 public:
  Matrix() : Matrix(0, 0, DType::f64) {}
  Matrix(Int rows, Int cols, DType dtype);  // numbers not yet set
  static Matrix zeros(Int rows, Int cols, DType dtype = DType::f64);

  Int rows() const { return rows_; }
  Int cols() const { return cols_; }
  Int size() const { return rows_ * cols_; }
  Int ld() const { return ld_; }
  DType dtype() const { return dtype_; }
  bool transposed() const { return transposed_; }
  bool same_shape(const Matrix& other) const { return rows_ == other.rows_ && cols_ == other.cols_; }
  bool shares(const Matrix& other) const { return buffer_ == other.buffer_; }
  bool overlaps(const Matrix& other) const { return shares(other) && offset_ != other.offset_; }
  std::string shape() const { return fmt::format("{}x{}", rows_, cols_); }

  Matrix t() const;
  Matrix block(Int row, Int rows, Int col, Int cols) const;  // a view; 0-based start and count
  Matrix row_block(Int row, Int rows) const { return block(row, rows, 0, cols_); }
  Matrix col_block(Int col, Int cols) const { return block(0, rows_, col, cols); }

  double get(Int i, Int j) const;
  void set(Int i, Int j, double value) const;

  Matrix clone() const { return to(dtype_); }
  Matrix to(DType dtype) const;               // a contiguous copy, not transposed
  Matrix contiguous(DType dtype) const;       // itself when it is that already
  void copy_from(const Matrix& other) const;  // converts; the shapes must agree

  template <class T>
  View<T> view() const {
    require(dtype_ == dtype_of<T>, "{} numbers expected, got a Matrix of {}", name(dtype_of<T>), name(dtype_));
    if (buffer_->released()) fail("this Matrix ({}) was released; it has no numbers any more", shape());
    return {static_cast<T*>(buffer_->data()) + offset_, rows_, cols_, ld_, transposed_};
  }
  void release() { buffer_->release(); }
  bool released() const { return buffer_->released(); }

 private:
  Int rows_, cols_, ld_;
  DType dtype_;
  bool transposed_ = false;
  Int offset_ = 0;  // in numbers
  std::shared_ptr<Buffer> buffer_;
};

DType wider(const Matrix& a, const Matrix& b);  // f64 unless both are f32
void require_same_shape(const char* what, const Matrix& a, const Matrix& b);

}  // namespace kbcd
