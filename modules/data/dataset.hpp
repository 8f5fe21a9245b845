// DataSet: n rows of d numbers, distributed over the ranks; each rank holds the rows that core/index's Layout
// gives it.
#pragma once

#include <functional>

#include "core/comm.hpp"
#include "core/csr.hpp"
#include "core/index.hpp"
#include "core/matrix.hpp"

namespace kbcd {

// n x d dense numbers fit into the memory that is free, over all ranks.
void require_dense_room(const std::string& what, Int n, Int d, DType dtype, const char* advice = "leave them sparse");
constexpr const char* fewer_rows = "read fewer rows, or use more machines";

class DataSet {
 public:
  // This rank's rows of n in all. NaN and Inf are refused, by row and column.
  DataSet(Int n, Matrix local, const std::string& source);
  DataSet(Int n, Csr local, const std::string& source);
  // Each rank keeps its rows of a matrix that every rank has.
  static DataSet from_matrix(const Matrix& all);
  // Rows of this rank alone: it holds all of them.
  static DataSet own(Matrix rows);
  static DataSet own(Csr rows);
  // rows(first, count) gives rows [first, first + count).
  static DataSet generate(Int n, Int d, const std::function<Matrix(Int first, Int count)>& rows);

  Int n() const { return layout_.n; }
  Int d() const { return sparse() ? csr_->cols : local_.cols(); }
  DType dtype() const { return sparse() ? csr_->dtype() : local_.dtype(); }
  bool sparse() const { return csr_ != nullptr; }
  Int local_n() const { return layout_.count(comm::rank()); }
  const Layout& layout() const { return layout_; }
  const Matrix& local() const;  // this rank's rows of dense data
  const Csr& csr() const;       // this rank's rows of sparse data
  Int first() const { return layout_.first(comm::rank()); }

  Matrix gather(const Index& rows) const;      // these rows, on every rank (collective)
  Csr gather_sparse(const Index& rows) const;  // the same of sparse data
  DataSet subset(const Index& rows) const;     // these rows as another data set, distributed again (collective)
  DataSet to(DType dtype) const;
  DataSet to_dense() const;
  DataSet to_sparse() const;
  Index local_rows(const Index& rows) const;  // the positions in local() of those `rows` that this rank holds
  // 16 hex digits that change with any number, row or order of rows; for equal data, the same on any number of ranks
  // (collective).
  std::string fingerprint() const;

 private:
  DataSet(Layout layout, Matrix local) : layout_(layout), local_(std::move(local)) {}
  Layout layout_;
  Matrix local_;
  std::shared_ptr<const Csr> csr_;  // instead of local_, when sparse
};

}  // namespace kbcd
