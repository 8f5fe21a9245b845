#include "core/matrix.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace kbcd {
namespace {

std::size_t checked_bytes(Int rows, Int cols, DType dtype) {
  require(rows >= 0 && cols >= 0, "Matrix: the shape must not be negative, got {}x{}", rows, cols);
  constexpr Int most = Int{1} << 46;
  constexpr Int most_empty =
      std::numeric_limits<std::int32_t>::max();  // loops over lines without numbers must end, too
  bool holds = rows && cols ? rows <= most / cols : std::max(rows, cols) <= most_empty;
  require(holds, "Matrix: {}x{} is more than any machine holds", rows, cols);
  return static_cast<std::size_t>(rows * cols) * bytes_of(dtype);
}

// to(i, j) = from(i, j) in tiles, so that a transposition reads and writes whole cache lines.
template <class T, class U>
void convert(View<T> to, View<U> from) {
  if (to.rows == 0 || to.cols == 0) return;
  if (to.transposed) to = to.t(), from = from.t();
  if (!from.transposed) {
    parallel_for(to.rows, to.rows * to.cols, [&](Int i) { std::copy_n(from.line(i), to.cols, to.line(i)); });
    return;
  }
  constexpr Int tile = 32;
  parallel_for((to.rows + tile - 1) / tile, to.rows * to.cols, [&](Int t) {
    Int i1 = std::min(to.rows, (t + 1) * tile);
    for (Int j0 = 0; j0 < to.cols; j0 += tile)
      for (Int i = t * tile; i < i1; ++i)
        for (Int j = j0; j < std::min(to.cols, j0 + tile); ++j) to.line(i)[j] = static_cast<T>(from.line(j)[i]);
  });
}

}  // namespace

const char* name(DType type) {
  return type == DType::f32 ? "f32" : "f64";
}

DType parse_dtype(std::string_view text) {
  if (text == "f32") return DType::f32;
  if (text == "f64") return DType::f64;
  fail("'f32' or 'f64' expected, got '{}'", text);
}

Matrix::Matrix(Int rows, Int cols, DType dtype)
    : rows_(rows),
      cols_(cols),
      ld_(std::max<Int>(cols, 1)),
      dtype_(dtype),
      buffer_(std::make_shared<Buffer>(checked_bytes(rows, cols, dtype))) {}

Matrix Matrix::zeros(Int rows, Int cols, DType dtype) {
  Matrix m(rows, cols, dtype);
  if (m.size()) std::memset(m.buffer_->data(), 0, m.size() * bytes_of(dtype));
  return m;
}

Matrix Matrix::t() const {
  Matrix m = *this;
  std::swap(m.rows_, m.cols_);
  m.transposed_ = !transposed_;
  return m;
}

Matrix Matrix::block(Int row, Int rows, Int col, Int cols) const {
  auto last = [](Int first, Int count) {
    Int end;
    return __builtin_add_overflow(first, count, &end) ? std::numeric_limits<Int>::max() : end;
  };
  require(row >= 0 && rows >= 0 && rows <= rows_ - row && col >= 0 && cols >= 0 && cols <= cols_ - col,
          "rows {}..{} and columns {}..{} expected within a {} Matrix", row + 1, last(row, rows), col + 1,
          last(col, cols), shape());
  Matrix m = *this;
  m.rows_ = rows;
  m.cols_ = cols;
  m.offset_ += transposed_ ? col * ld_ + row : row * ld_ + col;
  return m;
}

double Matrix::get(Int i, Int j) const {
  require(i >= 0 && i < rows_ && j >= 0 && j < cols_, "element ({}, {}) is outside a {} Matrix", i + 1, j + 1, shape());
  return dispatch(dtype_, [&]<class T>() { return static_cast<double>(view<T>()(i, j)); });
}

void Matrix::set(Int i, Int j, double value) const {
  require(i >= 0 && i < rows_ && j >= 0 && j < cols_, "element ({}, {}) is outside a {} Matrix", i + 1, j + 1, shape());
  dispatch(dtype_, [&]<class T>() { view<T>()(i, j) = static_cast<T>(value); });
}

Matrix Matrix::to(DType dtype) const {
  Matrix m(rows_, cols_, dtype);
  m.copy_from(*this);
  return m;
}

Matrix Matrix::contiguous(DType dtype) const {
  bool already = dtype == dtype_ && !transposed_ && (ld_ == cols_ || rows_ <= 1);
  return already ? *this : to(dtype);
}

void Matrix::copy_from(const Matrix& other) const {
  require_same_shape("copy", *this, other);
  if (shares(other)) return copy_from(other.clone());  // the views may overlap
  dispatch(dtype_, [&]<class T>() { dispatch(other.dtype_, [&]<class U>() { convert(view<T>(), other.view<U>()); }); });
}

DType wider(const Matrix& a, const Matrix& b) {
  return a.dtype() == DType::f32 && b.dtype() == DType::f32 ? DType::f32 : DType::f64;
}

void require_same_shape(const char* what, const Matrix& a, const Matrix& b) {
  require(a.same_shape(b), "{}: the shapes must agree, got {} and {}", what, a.shape(), b.shape());
}

}  // namespace kbcd
