#include "modules/data/distribute.hpp"

#include <algorithm>

namespace kbcd {

// Piece by piece, so that no rank holds more than one piece in addition to its own rows.
DataSet distribute(const Matrix& mine, const std::string& source) {
  constexpr Int piece = 4096;
  Matrix count(1, 1, DType::f64);
  count.set(0, 0, static_cast<double>(mine.rows()));
  Matrix counts = comm::allgather(count);
  Int n = 0, here = 0;  // all rows, and where this rank's begin
  for (int r = 0; r < comm::size(); ++r) {
    if (r == comm::rank()) here = n;
    n += static_cast<Int>(counts.get(r, 0));
  }
  if (comm::size() == 1) return {n, mine.clone(), source};
  Layout layout = comm::layout(n);
  Int begin = layout.first(comm::rank()), end = begin + layout.count(comm::rank());
  Matrix local(end - begin, mine.cols(), mine.dtype());
  for (Int at = 0; at < n; at += piece) {
    Int from = std::clamp(at - here, Int{0}, mine.rows()), to = std::clamp(at + piece - here, Int{0}, mine.rows());
    Matrix all = comm::allgather(mine.row_block(from, to - from));
    from = std::max(begin, at), to = std::min({end, at + piece, n});
    if (from < to) local.row_block(from - begin, to - from).copy_from(all.row_block(from - at, to - from));
  }
  return {n, local, source};
}

}  // namespace kbcd
