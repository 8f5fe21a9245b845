// Index: an ordered set of row or column numbers; and Layout: which rank owns which row.
//
// Numbers are 0-based here and 1-based in Lua; the bindings convert once. Permutations and samples come from
// the counter-based generator, so they are equal on every rank and for every number of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel.hpp"

namespace kbcd {

class Index {
 public:
  Index() = default;
  explicit Index(std::vector<Int> values);

  static Index range(Int first, Int count);
  // All of [0, n) in random order; `stream` numbers the independent permutations of one seed.
  static Index permutation(Int n, std::uint64_t seed, std::uint32_t stream);
  // p of [0, n) without replacement: the first p of that permutation, in O(p) time and memory.
  static Index sample(Int n, Int p, std::uint64_t seed, std::uint32_t stream);

  // count of [0, weights.size()) without replacement, one after the other with probabilities in proportion to the
  // weights of those that are left.
  static Index weighted(std::span<const double> weights, Int count, std::uint64_t seed, std::uint32_t stream);

  Int size() const { return static_cast<Int>(values_.size()); }
  Int operator[](Int i) const { return values_[i]; }
  const std::vector<Int>& values() const { return values_; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const Index&) const = default;

  Index slice(Int first, Int count) const;
  Index take(const Index& positions) const;   // this[positions]
  std::vector<Index> partition(Int b) const;  // consecutive pieces of b; the last may be shorter
  static Index concatenate(const std::vector<Index>& parts);
  Index sorted() const;
  Index without(const Index& others) const;  // those that are not in `others`, in their order

  void require_within(const char* what, Int n) const;  // every number in [0, n)
  void require_distinct(const char* what) const;

 private:
  std::vector<Int> values_;
};

// Rows [0, n) in contiguous shares that differ by at most one row. Blocks are random sets of rows, so
// contiguous shares distribute every block as evenly as random shares would, and a rank can read its share
// of a file in one piece.
struct Layout {
  Int n;
  int ranks;

  Int first(int rank) const { return static_cast<Int>(static_cast<__int128>(n) * rank / ranks); }
  Int count(int rank) const { return first(rank + 1) - first(rank); }
  int owner(Int row) const { return static_cast<int>((static_cast<__int128>(row + 1) * ranks - 1) / n); }
  // The positions in `rows` that `rank` owns, in the order of `rows`.
  std::vector<Int> owned_positions(const Index& rows, int rank) const;
};

}  // namespace kbcd
