#include "modules/blocks/sparse_sign.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/elementwise.hpp"
#include "core/memory.hpp"
#include "core/random.hpp"
#include "core/timers.hpp"

namespace kbcd {

SparseSign::SparseSign(Int rows, Int n, Int nonzeros, std::uint64_t seed, std::uint32_t stream)
    : rows_(rows), layout_(comm::layout(n)), nonzeros_(nonzeros) {
  require(n >= 1 && rows >= 1 && rows <= std::numeric_limits<std::int32_t>::max(),
          "sparse_sign: at least one row and one column expected, got {}x{}", rows, n);
  constexpr Int most = 1000;  // a column takes the square of them
  require(nonzeros >= 1 && nonzeros <= std::min(rows, most), "sparse_sign: nonzeros in 1..{} expected, got {}",
          std::min(rows, most), nonzeros);
  Random random(seed, Stream::sketch, stream);
  Int first = layout_.first(comm::rank()), count = layout_.count(comm::rank());
  require(count <= static_cast<Int>(memory::available() / sizeof(entries_[0])) / nonzeros,
          "sparse_sign: {} columns of {} nonzeros are more than this machine holds", count, nonzeros);
  entries_.resize(count * nonzeros);
  memory::notify(entries_.size() * sizeof(entries_[0]));
  // Floyd's sample of m of s rows: for j = s − m .. s − 1, one of 0..j, or j itself where that is taken.
  parallel_for(count, count * nonzeros * 32, [&](Int i) {
    std::int32_t *own = entries_.data() + i * nonzeros, *end = own;
    for (Int k = 0; k < nonzeros; ++k) {
      Int last = rows - nonzeros + k;
      auto row = static_cast<std::int32_t>(random.below(last + 1, first + i, static_cast<std::uint32_t>(2 * k)));
      auto is_row = [&](std::int32_t entry) { return entry == row || entry == ~row; };
      if (std::any_of(own, end, is_row)) row = static_cast<std::int32_t>(last);
      bool negative = random.bits(first + i, static_cast<std::uint32_t>(2 * k + 1)) & 1;
      *end++ = negative ? ~row : row;
    }
  });
}

// Threads share the columns of a, so that each entry of the result has one owner and one order of its sum.
Matrix SparseSign::times(const Matrix& a) const {
  Int count = layout_.count(comm::rank());
  require(a.rows() == count, "sparse_sign * A: A must have this rank's {} of the {} rows, got {}", count, n(),
          a.shape());
  Timer timer("sparse_sign");
  Matrix out = Matrix::zeros(rows_, a.cols()), from = a.contiguous(a.dtype());
  constexpr Int columns_at_once = 64;
  dispatch(a.dtype(), [&]<class T>() {
    auto x = from.view<T>();
    auto to = out.view<double>();
    parallel_for((a.cols() + columns_at_once - 1) / columns_at_once, a.size() * nonzeros_, [&](Int part) {
      Int begin = part * columns_at_once, end = std::min(a.cols(), begin + columns_at_once);
      for (Int i = 0; i < count; ++i)
        for (Int k = 0; k < nonzeros_; ++k) {
          std::int32_t entry = entries_[i * nonzeros_ + k];
          double* line = to.line(entry < 0 ? ~entry : entry);
          double sign = entry < 0 ? -1 : 1;
          for (Int j = begin; j < end; ++j) line[j] += sign * static_cast<double>(x.line(i)[j]);
        }
    });
  });
  scale(out, 1 / std::sqrt(static_cast<double>(nonzeros_)));
  return out;
}

}  // namespace kbcd
