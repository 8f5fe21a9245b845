// The counter-based generator: against an independent Philox (itself against published vectors), and its statistics.
#include "core/random.hpp"

#include <boost/test/unit_test.hpp>
#include <set>
#include <vector>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The documented scheme: the key of (seed, stream, user) is a Philox output, the counter is (row, pair of words).
std::uint64_t expected_bits(std::uint64_t seed, Stream stream, std::uint32_t user, std::uint64_t row, std::uint32_t s) {
  auto half = [](std::uint64_t x, int shift) { return static_cast<std::uint32_t>(x >> shift); };
  Words key = philox({static_cast<std::uint32_t>(stream), user, 0, 0}, {half(seed, 0), half(seed, 32)});
  Words words = philox({half(row, 0), half(row, 32), s / 2, 0}, {key[0], key[1]});
  return std::uint64_t{words[s % 2 * 2]} << 32 | words[s % 2 * 2 + 1];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random)

// kat_vectors of Random123: philox4x32 with 10 rounds.
BOOST_AUTO_TEST_CASE(the_reference_has_the_known_answers) {
  constexpr std::uint32_t ones = 0xffffffff;
  BOOST_TEST((philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  BOOST_TEST((philox({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  BOOST_TEST((philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

BOOST_AUTO_TEST_CASE(bits_are_those_of_philox) {
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x123456789abcdef0}})
    for (Stream stream : {Stream::permutation, Stream::phase})
      for (std::uint32_t user : {0u, 7u})
        for (std::uint64_t row : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1} << 40})
          for (std::uint32_t s : {0u, 1u, 2u, 1001u})
            BOOST_TEST(Random(seed, stream, user).bits(row, s) == expected_bits(seed, stream, user, row, s));
}

BOOST_AUTO_TEST_CASE(no_two_purposes_share_numbers) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (std::uint64_t seed : {0, 1})
    for (Stream stream : {Stream::permutation, Stream::normal, Stream::uniform, Stream::frequency, Stream::phase,
                          Stream::radius, Stream::rotation})
      for (std::uint32_t user : {0, 1})
        for (std::uint64_t row = 0; row < 20; ++row)
          for (std::uint32_t s = 0; s < 20; ++s, ++drawn) seen.insert(Random(seed, stream, user).bits(row, s));
  BOOST_TEST(seen.size() == drawn);
}

BOOST_AUTO_TEST_CASE(every_rank_draws_the_same) {
  double mine = Random(5, Stream::uniform).uniform(17, 3);
  BOOST_TEST(comm::allreduce(mine, comm::Reduction::min) == comm::allreduce(mine, comm::Reduction::max));
}

BOOST_AUTO_TEST_CASE(uniforms_fill_the_open_interval) {
  Random random(1, Stream::uniform);
  constexpr int draws = 100000, bins = 50;
  std::vector<double> histogram(bins);
  double sum = 0, lag = 0, last = 0.5;
  for (int i = 0; i < draws; ++i) {
    double u = random.uniform(i / 10, i % 10);
    BOOST_REQUIRE((u > 0 && u < 1));
    ++histogram[static_cast<int>(u * bins)];
    sum += u;
    lag += (u - 0.5) * (last - 0.5);
    last = u;
  }
  double chi2 = 0;
  for (double h : histogram) chi2 += std::pow(h - draws / bins, 2) / (draws / bins);
  BOOST_TEST(std::abs(sum / draws - 0.5) <= 5 / std::sqrt(12.0 * draws));
  BOOST_TEST(std::abs(chi2 - (bins - 1)) <= 5 * std::sqrt(2.0 * (bins - 1)));
  BOOST_TEST(std::abs(lag / draws) <= 5 / (12 * std::sqrt(draws)));
}

BOOST_AUTO_TEST_CASE(below_is_uniform_under_its_bound) {
  Random random(2, Stream::permutation);
  constexpr int draws = 70000, bound = 7;
  std::vector<double> histogram(bound);
  for (int i = 0; i < draws; ++i) {
    std::uint64_t k = random.below(bound, i);
    BOOST_REQUIRE(k < bound);
    ++histogram[k];
  }
  for (double h : histogram) BOOST_TEST(std::abs(h - draws / bound) <= 5 * std::sqrt(draws / bound));
  for (int i = 0; i < 100; ++i) BOOST_TEST(random.below(1, i) == 0);
}

BOOST_AUTO_TEST_CASE(normals_have_the_moments_and_tails_of_a_normal) {
  constexpr int rows = 20000, width = 5;  // odd: half a pair at the end of each row
  Random random(3, Stream::normal);
  double moments[5] = {}, beyond_two = 0, cross = 0;
  for (int row = 0; row < rows; ++row) {
    std::array<double, width> x;
    random.normals(row, x);
    for (double v : x) {
      for (int k = 1; k <= 4; ++k) moments[k] += std::pow(v, k);
      beyond_two += std::abs(v) > 2;
    }
    cross += x[0] * x[1] + x[1] * x[2];
  }
  double n = rows * width, tail = std::erfc(2 / std::sqrt(2.0));
  BOOST_TEST(std::abs(moments[1] / n) <= 5 / std::sqrt(n));
  BOOST_TEST(std::abs(moments[2] / n - 1) <= 5 * std::sqrt(2 / n));
  BOOST_TEST(std::abs(moments[3] / n) <= 5 * std::sqrt(15 / n));
  BOOST_TEST(std::abs(moments[4] / n - 3) <= 5 * std::sqrt(96 / n));
  BOOST_TEST(std::abs(beyond_two / n - tail) <= 5 * std::sqrt(tail / n));
  BOOST_TEST(std::abs(cross / rows) <= 5 * std::sqrt(2.0 / rows));
}

BOOST_AUTO_TEST_CASE(a_short_row_of_normals_begins_a_long_one) {
  Random random(4, Stream::normal);
  std::vector<double> whole(9);
  random.normals(11, whole);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::vector<double> part(length);
    random.normals(11, part);
    BOOST_TEST(std::equal(part.begin(), part.end(), whole.begin()));
  }
}

BOOST_AUTO_TEST_CASE(normals_by_the_formula) {
  Random random(7, Stream::normal);
  for (std::size_t count : {1, 2, 5, 127, 128, 129, 301}) {
    std::vector<double> out(count);
    random.normals(3, out);
    for (std::uint32_t s = 0; s < count; ++s) {
      double radius = std::sqrt(-2 * std::log(random.uniform(3, s - s % 2)));
      double angle = 2 * std::numbers::pi * random.uniform(3, s - s % 2 + 1);
      BOOST_CHECK_SMALL(out[s] - radius * (s % 2 ? std::sin(angle) : std::cos(angle)), 1e-14);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
