// Index sets, permutations and samples, and which rank owns which row.
#include "core/index.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <set>

#include "core/random.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

using Values = std::vector<Int>;

Values counting(Int n) {
  Values values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(index)

BOOST_AUTO_TEST_CASE(ranges_slices_and_takes) {
  BOOST_TEST(Index::range(3, 4).values() == (Values{3, 4, 5, 6}));
  BOOST_TEST(Index::range(3, 0).size() == 0);
  Index i({5, 2, 9, 2});
  BOOST_TEST(i.slice(1, 2).values() == (Values{2, 9}));
  BOOST_TEST(i.slice(4, 0).size() == 0);
  BOOST_TEST(i.take(Index({3, 0, 0})).values() == (Values{2, 5, 5}));
  BOOST_TEST(i.sorted().values() == (Values{2, 2, 5, 9}));
  BOOST_TEST(Index::concatenate({i, Index(), Index({1})}).values() == (Values{5, 2, 9, 2, 1}));
  BOOST_TEST((Index({1, 2}) == Index({1, 2})));
  BOOST_TEST(!(Index({1, 2}) == Index({2, 1})));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  Index i({5, 2, 9});
  BOOST_CHECK_THROW(i.slice(-1, 1), Error);
  BOOST_CHECK_THROW(i.slice(2, 2), Error);
  BOOST_CHECK_THROW(i.slice(0, -1), Error);
  BOOST_CHECK_THROW(i.take(Index({3})), Error);
  BOOST_CHECK_THROW(i.take(Index({-1})), Error);
  BOOST_CHECK_THROW(i.partition(0), Error);
  BOOST_CHECK_THROW(Index::range(0, -1), Error);
  BOOST_CHECK_THROW(Index::permutation(-1, 0, 0), Error);
  BOOST_CHECK_THROW(Index::sample(3, 4, 0, 0), Error);
  BOOST_CHECK_THROW(Index::sample(3, -1, 0, 0), Error);
  BOOST_CHECK_EXCEPTION(i.require_within("rows", 9), Error, mentions("got 10"));  // 1-based, as the user counts
  BOOST_CHECK_EXCEPTION(Index({4, 1, 4}).require_distinct("rows"), Error, mentions("5 is there twice"));
  i.require_within("rows", 10);
  i.require_distinct("rows");
}

BOOST_AUTO_TEST_CASE(a_partition_covers_everything_once_in_order) {
  for (Int n : {0, 1, 9, 10, 11})
    for (Int b : {1, 3, 10, 50}) {
      auto blocks = Index::range(0, n).partition(b);
      BOOST_TEST(Index::concatenate(blocks).values() == counting(n));
      for (std::size_t k = 0; k < blocks.size(); ++k)
        BOOST_TEST(blocks[k].size() == (k + 1 < blocks.size() ? b : n - b * static_cast<Int>(k)));
    }
}

// Fisher–Yates as in Knuth, with the generator's own draws.
BOOST_AUTO_TEST_CASE(a_permutation_is_a_shuffle_by_its_draws) {
  for (Int n : {0, 1, 2, 50}) {
    Values expected = counting(n);
    Random random(9, Stream::permutation, 4);
    for (Int t = 0; t < n; ++t) std::swap(expected[t], expected[t + static_cast<Int>(random.below(n - t, t))]);
    BOOST_TEST(Index::permutation(n, 9, 4).values() == expected);
    BOOST_TEST(Index::permutation(n, 9, 4).sorted().values() == counting(n));
  }
}

BOOST_AUTO_TEST_CASE(permutations_differ_by_seed_and_stream) {
  std::set<Values> seen;
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    for (std::uint32_t stream = 0; stream < 5; ++stream) seen.insert(Index::permutation(40, seed, stream).values());
  BOOST_TEST(seen.size() == 25);
}

// All 24 orders of four things, each about equally often.
BOOST_AUTO_TEST_CASE(every_order_is_as_likely) {
  std::map<Values, int> count;
  constexpr int draws = 24000;
  for (int s = 0; s < draws; ++s) ++count[Index::permutation(4, 1, s).values()];
  BOOST_TEST(count.size() == 24);
  for (auto& [order, times] : count) BOOST_TEST(std::abs(times - draws / 24.0) <= 5 * std::sqrt(draws / 24.0));
}

BOOST_AUTO_TEST_CASE(a_sample_begins_the_permutation) {
  for (Int n : {1, 2, 30})
    for (Int p = 0; p <= n; ++p)
      BOOST_TEST(Index::sample(n, p, 3, 2).values() == Index::permutation(n, 3, 2).slice(0, p).values());
}

BOOST_AUTO_TEST_CASE(a_sample_of_a_huge_range_takes_no_huge_memory) {
  Index sample = Index::sample(Int{1} << 50, 100, 1, 0);
  sample.require_within("sample", Int{1} << 50);
  sample.require_distinct("sample");
  BOOST_TEST(sample.size() == 100);
}

BOOST_AUTO_TEST_CASE(every_row_has_one_owner_and_shares_are_even) {
  for (int ranks : {1, 2, 3, 4, 7, 128})
    for (Int n : {1, 2, 3, 5, 100, 127, 1000}) {
      Layout layout{n, ranks};
      Int row = 0;
      for (int r = 0; r < ranks; ++r) {
        BOOST_TEST(layout.first(r) == row);
        BOOST_TEST((layout.count(r) == n / ranks || layout.count(r) == (n + ranks - 1) / ranks));
        for (Int i = 0; i < layout.count(r); ++i, ++row) BOOST_TEST(layout.owner(row) == r);
      }
      BOOST_TEST(row == n);
    }
}

BOOST_AUTO_TEST_CASE(layouts_of_huge_sets_do_not_overflow) {
  Int n = std::numeric_limits<Int>::max() - 1;
  Layout layout{n, 1 << 20};
  BOOST_TEST(layout.first(1 << 20) == n);
  BOOST_TEST(layout.owner(0) == 0);
  BOOST_TEST(layout.owner(n - 1) == (1 << 20) - 1);
}

BOOST_AUTO_TEST_CASE(owned_positions_keep_the_order_asked_for) {
  Layout layout{10, 3};  // 0..2, 3..5, 6..9
  Index rows({9, 0, 4, 9, 2, 6});
  BOOST_TEST(layout.owned_positions(rows, 0) == (Values{1, 4}));
  BOOST_TEST(layout.owned_positions(rows, 1) == (Values{2}));
  BOOST_TEST(layout.owned_positions(rows, 2) == (Values{0, 3, 5}));
}

// The first drawn is i with probability w_i / Σw, the second among the rest likewise.
BOOST_AUTO_TEST_CASE(weighted_draws) {
  std::vector<double> weights{1, 0, 3, 6};
  constexpr int draws = 20000;
  std::vector<double> first(4), second_after_last(4);
  for (int t = 0; t < draws; ++t) {
    Index drawn = Index::weighted(weights, 2, 5, t);
    BOOST_TEST(drawn[0] != drawn[1]);
    first[drawn[0]] += 1.0 / draws;
    if (drawn[0] == 3) second_after_last[drawn[1]] += 1.0 / draws;
  }
  for (int i = 0; i < 4; ++i) BOOST_TEST(std::abs(first[i] - weights[i] / 10) < 0.015);
  BOOST_TEST(std::abs(second_after_last[2] - 0.6 * 0.75) < 0.015);
  BOOST_TEST((Index::weighted(weights, 3, 5, 1) == Index::weighted(weights, 3, 5, 1)));
  BOOST_TEST((Index::weighted(weights, 3, 5, 1).slice(0, 2) == Index::weighted(weights, 2, 5, 1)));
  BOOST_TEST(Index::weighted(std::vector<double>{1e-300, 1e300}, 1, 5, 1)[0] == 1);
  BOOST_TEST(Index::weighted({}, 0, 5, 1).size() == 0);
  BOOST_CHECK_THROW(Index::weighted(weights, 4, 5, 1), Error);
  BOOST_CHECK_THROW(Index::weighted(weights, -1, 5, 1), Error);
  BOOST_CHECK_THROW(Index::weighted(std::vector<double>{1, -1}, 1, 5, 1), Error);
  BOOST_CHECK_THROW(Index::weighted(std::vector<double>{1, std::nan("")}, 1, 5, 1), Error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
