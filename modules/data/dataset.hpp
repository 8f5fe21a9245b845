// DataSet: n rows of d numbers, distributed over the ranks; each rank holds the rows that core/index's Layout
// gives it. They are dense, sparse, or dense and kept as bytes (byte_matrix.hpp), which stand for the numbers that
// dense rows would hold.
#pragma once

#include <functional>

#include "core/comm.hpp"
#include "core/csr.hpp"
#include "core/index.hpp"
#include "core/matrix.hpp"
#include "modules/data/byte_matrix.hpp"

namespace kbcd {

// n x d dense numbers fit into the memory that is free, over all ranks.
void require_dense_room(const std::string& what, Int n, Int d, DType dtype, const char* advice = "leave them sparse");
void require_byte_room(const std::string& what, Int n, Int d, const char* advice);  // the same of bytes
constexpr const char* fewer_rows = "read fewer rows, or use more machines";

class DataSet {
 public:
  // This rank's rows of n in all. NaN and Inf are refused, by row and column.
  DataSet(Int n, Matrix local, const std::string& source);
  DataSet(Int n, Csr local, const std::string& source);
  DataSet(Int n, ByteMatrix local, DType dtype, const std::string& source);  // dtype: of the numbers they stand for
  // Each rank keeps its rows of a matrix that every rank has.
  static DataSet from_matrix(const Matrix& all);
  // Rows of this rank alone: it holds all of them.
  static DataSet own(Matrix rows);
  static DataSet own(Csr rows);
  static DataSet own(ByteMatrix rows, DType dtype);
  // rows(first, count) gives rows [first, first + count).
  static DataSet generate(Int n, Int d, const std::function<Matrix(Int first, Int count)>& rows);

  Int n() const { return layout_.n; }
  Int d() const { return sparse() ? csr_->cols : bytes_ ? bytes_->cols() : local_.cols(); }
  DType dtype() const { return sparse() ? csr_->dtype() : bytes_ ? bytes_dtype_ : local_.dtype(); }
  bool sparse() const { return csr_ != nullptr; }
  bool is_bytes() const { return bytes_ != nullptr; }
  Int local_n() const { return layout_.count(comm::rank()); }
  const Layout& layout() const { return layout_; }
  Matrix local() const { return local(0, local_n()); }
  Matrix local(Int first, Int count) const;  // of this rank's rows of dense data; of bytes, real numbers made of them
  // Row i of this rank's dense rows; of bytes, in `buffer` of d() numbers.
  template <class T>
  const T* line(Int i, T* buffer) const;
  const Csr& csr() const;           // this rank's rows of sparse data
  const ByteMatrix& bytes() const;  // this rank's rows of bytes
  Int first() const { return layout_.first(comm::rank()); }

  Matrix gather(const Index& rows) const;      // these rows, on every rank (collective)
  Csr gather_sparse(const Index& rows) const;  // the same of sparse data
  ByteMatrix gather_bytes(const Index& rows) const;
  DataSet subset(const Index& rows) const;  // these rows as another data set, distributed again (collective)
  DataSet to(DType dtype) const;
  DataSet to_dense() const;               // not sparse; bytes stay bytes
  DataSet to_real() const;                // bytes as the numbers they stand for
  DataSet to_bytes(ByteCode code) const;  // dense numbers as the bytes that stand for them; an Error if one has none
  DataSet to_sparse() const;
  Index local_rows(const Index& rows) const;  // the positions in local() of those `rows` that this rank holds
  // 16 hex digits that change with any number, row or order of rows; for equal data, the same on any number of ranks
  // (collective).
  std::string fingerprint() const;

 private:
  DataSet(Layout layout, Matrix local) : layout_(layout), local_(std::move(local)) {}
  Layout layout_;
  Matrix local_;
  std::shared_ptr<const Csr> csr_;           // instead of local_, when sparse
  std::shared_ptr<const ByteMatrix> bytes_;  // instead of local_, when bytes
  DType bytes_dtype_ = DType::f32;
};

}  // namespace kbcd
