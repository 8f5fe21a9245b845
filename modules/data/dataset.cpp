#include "modules/data/dataset.hpp"

#include <algorithm>
#include <cmath>

#include "core/elementwise.hpp"

namespace kbcd {
namespace {

void require_finite(const Matrix& local, Int first, const std::string& source) {
  if (all_finite(local)) return;
  for (Int i = 0; i < local.rows(); ++i)
    for (Int j = 0; j < local.cols(); ++j)
      require(std::isfinite(local.get(i, j)), "{}: row {}, column {} is {}; every value must be a finite number",
              source, first + i + 1, j + 1, local.get(i, j));
}

}  // namespace

DataSet::DataSet(Int n, Matrix local, const std::string& source) : layout_(comm::layout(n)), local_(std::move(local)) {
  require(n >= 1 && local_.cols() >= 1, "{}: a data set needs at least one row and one column, got {}x{}", source, n,
          local_.cols());
  require(local_.rows() == layout_.count(comm::rank()), "{}: {} of the {} rows expected on this rank, got {}", source,
          layout_.count(comm::rank()), n, local_.rows());
  local_ = local_.contiguous(local_.dtype());
  require_finite(local_, first(), source);
}

DataSet DataSet::from_matrix(const Matrix& all) {
  Layout layout = comm::layout(all.rows());
  return {all.rows(), all.row_block(layout.first(comm::rank()), layout.count(comm::rank())).clone(), "DataSet"};
}

DataSet DataSet::generate(Int n, Int d, const std::function<Matrix(Int, Int)>& rows) {
  require(n >= 1 && d >= 1, "DataSet.generate: at least one row and one column expected, got {}x{}", n, d);
  Layout layout = comm::layout(n);
  Int first = layout.first(comm::rank()), count = layout.count(comm::rank());
  Matrix local = count ? rows(first, count) : Matrix(0, d, DType::f64);
  require(local.rows() == count && local.cols() == d,
          "DataSet.generate: the function must give {}x{} for rows {}..{}, got {}", count, d, first + 1, first + count,
          local.shape());
  // A rank without rows cannot know the type the others got from the function.
  double f32 = comm::allreduce(count && local.dtype() == DType::f32, comm::Reduction::max);
  double f64 = comm::allreduce(count && local.dtype() == DType::f64, comm::Reduction::max);
  require(f32 == 0 || f64 == 0, "DataSet.generate: the function must give one type on every rank, got f32 and f64");
  return {n, count ? local : Matrix(0, d, f32 > 0 ? DType::f32 : DType::f64), "DataSet.generate"};
}

Matrix DataSet::gather(const Index& rows) const {
  rows.require_within("DataSet:gather", n());
  return comm::gather_rows(local_, layout_, rows);
}

// Piece by piece, each gathered on every rank, so that no rank holds more than a piece beside its own rows.
DataSet DataSet::subset(const Index& rows) const {
  constexpr Int piece = 4096;
  rows.require_within("DataSet:subset", n());
  Layout target = comm::layout(rows.size());
  Int begin = target.first(comm::rank()), end = begin + target.count(comm::rank());
  Matrix local(end - begin, d(), dtype());
  for (Int at = 0; at < rows.size(); at += piece) {
    Int count = std::min(piece, rows.size() - at);
    Matrix all = gather(rows.slice(at, count));
    Int from = std::max(at, begin), to = std::min(at + count, end);
    if (from < to) local.row_block(from - begin, to - from).copy_from(all.row_block(from - at, to - from));
  }
  return {rows.size(), local, "DataSet:subset"};
}

DataSet DataSet::to(DType dtype) const {
  return {n(), local_.contiguous(dtype), "DataSet:to"};
}

Index DataSet::local_rows(const Index& rows) const {
  rows.require_within("DataSet:local_rows", n());
  auto positions = layout_.owned_positions(rows, comm::rank());
  for (Int& position : positions) position = rows[position] - first();
  return Index(std::move(positions));
}

}  // namespace kbcd
