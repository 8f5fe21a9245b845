#include "modules/data/dataset.hpp"

#include <algorithm>
#include <cmath>

#include "core/checksum.hpp"
#include "core/elementwise.hpp"
#include "core/memory.hpp"

namespace kbcd {
namespace {

void require_finite(const Matrix& local, Int first, const std::string& source) {
  if (all_finite(local)) return;
  for (Int i = 0; i < local.rows(); ++i)
    for (Int j = 0; j < local.cols(); ++j)
      require(std::isfinite(local.get(i, j)), "{}: row {}, column {} is {}; every value must be a finite number",
              source, first + i + 1, j + 1, local.get(i, j));
}

// An Error, on every rank, unless all have the same matrix.
void require_same(const Matrix& all) {
  if (!comm::checking()) return;
  comm::require_same("DataSet", fmt::format("{} {}, checksum {}; bcast(A) gives all ranks that of one", all.shape(),
                                            name(all.dtype()), checksum_text(all)));
}

// n x d numbers of `each` bytes fit into the memory that is free, over all ranks.
void require_room(const std::string& what, Int n, Int d, const std::string& numbers, std::size_t each,
                  const char* advice) {
  double bytes = static_cast<double>(n) * static_cast<double>(d) * static_cast<double>(each);
  double free = static_cast<double>(memory::available()) / comm::node_size() * comm::size();
  require(bytes <= free, "{}: {}x{} {} take {:.5g} GB, and {:.3g} GB of memory are free on {} rank{}; {}", what, n, d,
          numbers, bytes / 1e9, free / 1e9, comm::size(), comm::size() == 1 ? "" : "s", advice);
}

}  // namespace

void require_dense_room(const std::string& what, Int n, Int d, DType dtype, const char* advice) {
  require_room(what, n, d, fmt::format("dense {} numbers", name(dtype)), bytes_of(dtype), advice);
}

void require_byte_room(const std::string& what, Int n, Int d, const char* advice) {
  require_room(what, n, d, "bytes", 1, advice);
}

DataSet::DataSet(Int n, Matrix local, const std::string& source) : layout_(comm::layout(n)), local_(std::move(local)) {
  require(n >= 1 && local_.cols() >= 1, "{}: a data set needs at least one row and one column, got {}x{}", source, n,
          local_.cols());
  require(local_.rows() == layout_.count(comm::rank()), "{}: {} of the {} rows expected on this rank, got {}", source,
          layout_.count(comm::rank()), n, local_.rows());
  local_ = local_.contiguous(local_.dtype());
  require_finite(local_, first(), source);
}

DataSet::DataSet(Int n, Csr local, const std::string& source)
    : layout_(comm::layout(n)), csr_(std::make_shared<const Csr>(std::move(local))) {
  require(n >= 1 && csr_->cols >= 1, "{}: a data set needs at least one row and one column, got {}x{}", source, n,
          csr_->cols);
  require(csr_->rows == local_n(), "{}: {} of the {} rows expected on this rank, got {}", source, local_n(), n,
          csr_->rows);
  require_valid(source.c_str(), *csr_);
  if (all_finite(csr_->values)) return;
  for (Int i = 0; i < csr_->rows; ++i)
    for (Int e = csr_->starts[i]; e < csr_->starts[i + 1]; ++e)
      require(std::isfinite(csr_->values.get(0, e)), "{}: row {}, column {} is {}; every value must be a finite number",
              source, first() + i + 1, csr_->columns[e] + 1, csr_->values.get(0, e));
}

DataSet::DataSet(Int n, ByteMatrix local, DType dtype, const std::string& source)
    : layout_(comm::layout(n)),
      local_(0, 0, dtype),
      bytes_(std::make_shared<const ByteMatrix>(std::move(local))),
      bytes_dtype_(dtype) {
  require(n >= 1 && d() >= 1, "{}: a data set needs at least one row and one column, got {}x{}", source, n, d());
  require(bytes_->rows() == local_n(), "{}: {} of the {} rows expected on this rank, got {}", source, local_n(), n,
          bytes_->rows());
}

Matrix DataSet::local(Int first, Int count) const {
  require(!sparse(), "this data set is sparse and has no dense rows; to_dense() makes one that has");
  return bytes_ ? bytes_->decode(first, count, dtype()) : local_.row_block(first, count);
}

template <class T>
const T* DataSet::line(Int i, T* buffer) const {
  if (!bytes_) return local_.view<T>().line(i);
  bytes_->decode(i, buffer);
  return buffer;
}

template const float* DataSet::line(Int, float*) const;
template const double* DataSet::line(Int, double*) const;

const ByteMatrix& DataSet::bytes() const {
  require(is_bytes(), "this data set holds no bytes");
  return *bytes_;
}

const Csr& DataSet::csr() const {
  require(sparse(), "this data set is dense; to_sparse() makes a sparse one");
  return *csr_;
}

DataSet DataSet::from_matrix(const Matrix& all) {
  require_same(all);
  Layout layout = comm::layout(all.rows());
  return {all.rows(), all.row_block(layout.first(comm::rank()), layout.count(comm::rank())).clone(), "DataSet"};
}

DataSet DataSet::own(Matrix rows) {
  return DataSet(Layout{rows.rows(), 1}, rows);
}

DataSet DataSet::own(Csr rows) {
  DataSet data(Layout{rows.rows, 1}, Matrix());
  data.csr_ = std::make_shared<const Csr>(std::move(rows));
  return data;
}

DataSet DataSet::own(ByteMatrix rows, DType dtype) {
  DataSet data(Layout{rows.rows(), 1}, Matrix());
  data.bytes_ = std::make_shared<const ByteMatrix>(std::move(rows));
  data.bytes_dtype_ = dtype;
  return data;
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
  if (bytes_) return gather_bytes(rows).decode(0, rows.size(), dtype());
  return sparse() ? gather_sparse(rows).dense() : comm::gather_rows(local_, layout_, rows);
}

ByteMatrix DataSet::gather_bytes(const Index& rows) const {
  rows.require_within("DataSet:gather", n());
  return bytes().with(comm::gather_rows(bytes_->words(), layout_, rows));
}

// The entries travel as (column, value) pairs, in the order of ranks, and are then put in the order of `rows`.
Csr DataSet::gather_sparse(const Index& rows) const {
  rows.require_within("DataSet:gather", n());
  Csr mine = csr().take(local_rows(rows).values());
  Matrix lengths(mine.rows, 1, DType::f64), entries(mine.nnz(), 2, DType::f64);
  for (Int i = 0; i < mine.rows; ++i) lengths.set(i, 0, static_cast<double>(mine.starts[i + 1] - mine.starts[i]));
  for (Int e = 0; e < mine.nnz(); ++e) entries.set(e, 0, mine.columns[e]);
  entries.col_block(1, 1).copy_from(mine.values.t());
  lengths = comm::allgather_owned(lengths, layout_, rows);
  entries = comm::allgather(entries);

  Csr all;
  all.rows = rows.size();
  all.cols = d();
  std::vector<Int> next(layout_.ranks + 1);  // where the next row of each rank begins in `entries`
  for (Int i = 0; i < all.rows; ++i) {
    all.starts.push_back(all.starts.back() + static_cast<Int>(lengths.get(i, 0)));
    next[layout_.owner(rows[i]) + 1] += static_cast<Int>(lengths.get(i, 0));
  }
  for (int r = 0; r < layout_.ranks; ++r) next[r + 1] += next[r];
  all.columns.resize(all.starts.back());
  all.values = Matrix(1, all.starts.back(), dtype());
  auto from = entries.view<double>();
  for (Int i = 0; i < all.rows; ++i) {
    Int& at = next[layout_.owner(rows[i])];
    for (Int e = all.starts[i]; e < all.starts[i + 1]; ++e, ++at) {
      all.columns[e] = static_cast<std::int32_t>(from(at, 0));
      all.values.set(0, e, from(at, 1));
    }
  }
  return all;
}

// Piece by piece, each gathered on every rank, so that no rank holds more than a piece beside its own rows.
DataSet DataSet::subset(const Index& rows) const {
  constexpr Int piece = 4096;
  rows.require_within("DataSet:subset", n());
  Layout target = comm::layout(rows.size());
  Int begin = target.first(comm::rank()), end = begin + target.count(comm::rank());
  // Bytes travel as the words that hold them.
  auto of_piece = [&](const Index& some) {
    return bytes_ ? comm::gather_rows(bytes_->words(), layout_, some) : gather(some);
  };
  Matrix local(sparse() ? 0 : end - begin, bytes_ ? bytes_->words().cols() : d(), bytes_ ? DType::f32 : dtype());
  Csr sparse_local;
  sparse_local.cols = d();
  sparse_local.values = Matrix(1, 0, dtype());
  for (Int at = 0; at < rows.size(); at += piece) {
    Int count = std::min(piece, rows.size() - at);
    Int from = std::max(at, begin), to = std::min(at + count, end);
    if (sparse()) {
      Csr all = gather_sparse(rows.slice(at, count));
      if (from < to) sparse_local.append(all.take(Index::range(from - at, to - from).values()));
    } else {
      Matrix all = of_piece(rows.slice(at, count));
      if (from < to) local.row_block(from - begin, to - from).copy_from(all.row_block(from - at, to - from));
    }
  }
  if (bytes_) return DataSet(rows.size(), bytes_->with(local), dtype(), "DataSet:subset");
  return sparse() ? DataSet(rows.size(), std::move(sparse_local), "DataSet:subset")
                  : DataSet(rows.size(), local, "DataSet:subset");
}

DataSet DataSet::to(DType dtype) const {
  if (bytes_) return DataSet(n(), *bytes_, dtype, "DataSet:to");
  return sparse() ? DataSet(n(), csr_->to(dtype), "DataSet:to") : DataSet(n(), local_.contiguous(dtype), "DataSet:to");
}

DataSet DataSet::to_dense() const {
  if (!sparse()) return *this;
  require_dense_room("DataSet:to_dense", n(), d(), dtype());
  return DataSet(n(), csr_->dense(), "DataSet:to_dense");
}

DataSet DataSet::to_sparse() const {
  return sparse() ? *this : DataSet(n(), Csr::from_dense(local()), "DataSet:to_sparse");
}

DataSet DataSet::to_real() const {
  if (!bytes_) return *this;
  require_dense_room("DataSet:to_real", n(), d(), dtype(), "leave them bytes");
  return DataSet(n(), local(), "DataSet:to_real");
}

DataSet DataSet::to_bytes(ByteCode code) const {
  require(!sparse(), "DataSet:to_bytes: dense data expected, this is sparse");
  DataSet real = to_real();
  ByteMatrix bytes(local_n(), d(), code);
  dispatch(dtype(), [&]<class T>() {
    parallel_for(local_n(), local_n() * d(), [&](Int i) { bytes.encode(i, real.local_.view<T>().line(i)); });
  });
  return DataSet(n(), std::move(bytes), dtype(), "DataSet:to_bytes");
}

Index DataSet::local_rows(const Index& rows) const {
  rows.require_within("DataSet:local_rows", n());
  auto positions = layout_.owned_positions(rows, comm::rank());
  for (Int& position : positions) position = rows[position] - first();
  return Index(std::move(positions));
}

// The sum, over all rows, of checksums of a row and its number.
std::string DataSet::fingerprint() const {
  std::vector<std::uint64_t> sums(local_n());
  auto of_row = [&](Int i) {
    Checksum sum;
    sum.add(static_cast<std::uint64_t>(first() + i));
    dispatch(dtype(), [&]<class T>() {
      if (sparse()) {
        Int start = csr_->starts[i], count = csr_->starts[i + 1] - start;
        sum.add(csr_->columns.data() + start, count * sizeof(std::int32_t));
        sum.add(csr_->values.view<T>().data + start, count * sizeof(T));
      } else {
        std::vector<T> buffer(bytes_ ? d() : 0);
        sum.add(line(i, buffer.data()), d() * sizeof(T));
      }
    });
    sums[i] = sum.value();
  };
  parallel_for(local_n(), local_n() * d(), of_row);
  std::uint64_t total = 0;
  for (auto sum : sums) total += sum;
  std::uint64_t all = 0;
  for (auto& text : comm::allgather(Checksum::text(total))) all += std::stoull(text, nullptr, 16);
  return Checksum::text(all);
}

}  // namespace kbcd
