// The fast Walsh–Hadamard transform against the matrix itself, from lengths within a vector to those beyond the cache.
#include "core/walsh_hadamard.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

template <class T>
void check(Int n) {
  Dense x = normal(n, 1, static_cast<unsigned>(n), dtype_of<T>);
  std::vector<T> y(n + 1);  // from 1: at no round address
  for (Int i = 0; i < n; ++i) y[i + 1] = static_cast<T>(x(i));
  walsh_hadamard(y.data() + 1, n);
  double largest = 0;
  for (Int i = 0; i < n; i += 1 + n / 300) {
    double sum = 0;
    for (Int j = 0; j < n; ++j) sum += std::popcount(static_cast<std::uint64_t>(i & j)) % 2 ? -x(j) : x(j);
    largest = std::max(largest, std::abs(sum - y[i + 1]));
  }
  BOOST_TEST(largest <= 10 * epsilon(dtype_of<T>) * x.norm() * std::sqrt(n), "n = " << n);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(walsh_hadamard_transform)

BOOST_AUTO_TEST_CASE(it_multiplies_by_the_matrix) {
  for (Int n = 1; n <= 1 << 14; n *= 2) {
    check<float>(n);
    check<double>(n);
  }
}

BOOST_AUTO_TEST_CASE(other_lengths_are_refused) {
  double y[12] = {};
  for (Int n : {0, -4, 3, 12}) BOOST_CHECK_EXCEPTION(walsh_hadamard(y, n), Error, mentions("power of two"));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
