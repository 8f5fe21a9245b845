#include "core/index.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/random.hpp"

namespace kbcd {

namespace {

void require_fits(const char* what, Int count) {
  require(count <= static_cast<Int>(memory::available() / sizeof(Int)),
          "{}: {} numbers are more than this machine holds", what, count);
}

}  // namespace

Index::Index(std::vector<Int> values) : values_(std::move(values)) {
  memory::notify(values_.size() * sizeof(Int));
}

Index Index::range(Int first, Int count) {
  require_fits("Index.range", count);
  require(count >= 0, "Index.range: last >= first - 1 expected, got {} to {}", first + 1, first + count);
  std::vector<Int> values(count);
  std::iota(values.begin(), values.end(), first);
  return Index(std::move(values));
}

// Fisher–Yates from the front: step t swaps t with t + below(n - t).
Index Index::permutation(Int n, std::uint64_t seed, std::uint32_t stream) {
  require(n >= 0, "Index.permutation: n >= 0 expected, got {}", n);
  require_fits("Index.permutation", n);
  Random random(seed, Stream::permutation, stream);
  auto values = range(0, n).values_;
  for (Int t = 0; t + 1 < n; ++t) std::swap(values[t], values[t + random.below(n - t, t)]);
  return Index(std::move(values));
}

Index Index::sample(Int n, Int p, std::uint64_t seed, std::uint32_t stream) {
  require(p >= 0 && p <= n, "Index.sample: cannot draw {} of {} without replacement", p, n);
  require_fits("Index.sample", p);
  Random random(seed, Stream::permutation, stream);
  std::unordered_map<Int, Int> moved;  // the places where the permutation so far is not the identity
  auto at = [&](Int i) {
    auto it = moved.find(i);
    return it == moved.end() ? i : it->second;
  };
  std::vector<Int> values(p);
  for (Int t = 0; t < p; ++t) {
    Int other = t + 1 < n ? t + static_cast<Int>(random.below(n - t, t)) : t;
    values[t] = at(other);
    moved[other] = at(t);
  }
  return Index(std::move(values));
}

// Those with the largest keys u_i^(1/w_i), the largest first (Efraimidis and Spirakis, 2006); here the smallest
// −log(u_i) / w_i, which neither overflows nor rounds to 1.
Index Index::weighted(std::span<const double> weights, Int count, std::uint64_t seed, std::uint32_t stream) {
  Random random(seed, Stream::draw, stream);
  std::vector<std::pair<double, Int>> keys;
  for (Int i = 0; i < static_cast<Int>(weights.size()); ++i) {
    require(weights[i] >= 0 && std::isfinite(weights[i]), "Index.weighted: weights >= 0 expected, number {} is {}",
            i + 1, weights[i]);
    if (weights[i] > 0) keys.emplace_back(-std::log(random.uniform(i, 0)) / weights[i], i);
  }
  Int positive = static_cast<Int>(keys.size());
  require(count >= 0 && count <= positive, "Index.weighted: cannot draw {} of {} numbers with a weight > 0", count,
          positive);
  std::partial_sort(keys.begin(), keys.begin() + count, keys.end());
  std::vector<Int> values(count);
  for (Int i = 0; i < count; ++i) values[i] = keys[i].second;
  return Index(std::move(values));
}

Index Index::slice(Int first, Int count) const {
  require(first >= 0 && count >= 0 && count <= size() - first, "Index: positions {}..{} expected within 1..{}",
          first + 1, first + count, size());
  return Index({values_.begin() + first, values_.begin() + first + count});
}

Index Index::take(const Index& positions) const {
  positions.require_within("Index:take", size());
  std::vector<Int> values(positions.size());
  for (Int i = 0; i < positions.size(); ++i) values[i] = values_[positions[i]];
  return Index(std::move(values));
}

std::vector<Index> Index::partition(Int b) const {
  require(b >= 1, "Index:partition: a block size of at least 1 expected, got {}", b);
  std::vector<Index> blocks;
  for (Int first = 0; first < size(); first += b) blocks.push_back(slice(first, std::min(b, size() - first)));
  return blocks;
}

Index Index::concatenate(const std::vector<Index>& parts) {
  std::vector<Int> values;
  for (auto& part : parts) values.insert(values.end(), part.begin(), part.end());
  return Index(std::move(values));
}

Index Index::without(const Index& others) const {
  Int most = -1;
  for (Int value : values_) most = std::max(most, value);
  std::vector<Int> rest;
  rest.reserve(values_.size());
  if (most / 64 > size() + others.size()) {  // a flag for each number would take more than the numbers
    auto out = others.sorted();
    for (Int value : values_)
      if (!std::binary_search(out.begin(), out.end(), value)) rest.push_back(value);
    return Index(std::move(rest));
  }
  std::vector<bool> out(most + 1);
  for (Int value : others)
    if (value >= 0 && value <= most) out[value] = true;
  for (Int value : values_)
    if (!out[value]) rest.push_back(value);
  return Index(std::move(rest));
}

Index Index::sorted() const {
  auto values = values_;
  std::sort(values.begin(), values.end());
  return Index(std::move(values));
}

void Index::require_within(const char* what, Int n) const {
  for (Int value : values_)
    require(value >= 0 && value < n, "{}: numbers in 1..{} expected, got {}", what, n, value + 1);
}

void Index::require_distinct(const char* what) const {
  auto values = sorted().values_;
  auto twice = std::adjacent_find(values.begin(), values.end());
  if (twice != values.end()) fail("{}: distinct numbers expected, but {} is there twice", what, *twice + 1);
}

std::vector<Int> Layout::owned_positions(const Index& rows, int rank) const {
  Int begin = first(rank), end = first(rank + 1);
  std::vector<Int> positions;
  for (Int i = 0; i < rows.size(); ++i)
    if (rows[i] >= begin && rows[i] < end) positions.push_back(i);
  return positions;
}

}  // namespace kbcd
