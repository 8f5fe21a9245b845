// Selector(n, I) against the 0/1 matrix that it represents.
#include "modules/blocks/selector.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

Dense ones_at(Int n, const Index& columns) {
  Dense s = Dense::Zero(n, columns.size());
  for (Int j = 0; j < columns.size(); ++j) s(columns[j], j) = 1;
  return s;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(selector)

BOOST_AUTO_TEST_CASE(scatters_and_gathers_like_the_dense_matrix) {
  for (Int n : {1, 2, 3, 20, 101})
    for (const Index& columns :
         {Index::permutation(n, 1, 0), Index::sample(n, n / 2, 2, 0), Index({n - 1, 0, n - 1}), Index()})
      for (DType type : both_types)
        for (bool transposed : {false, true}) {
          Dense s = ones_at(n, columns), d = normal(columns.size(), 3, 1, type), a = normal(n, 4, 2, type);
          auto stored = [&](const Dense& m) {
            return transposed ? as_matrix(m.transpose(), type).t() : as_matrix(m, type);
          };
          Selector selector(n, columns);
          Matrix scattered = selector.times(stored(d)), gathered = summed(selector.t_times(stored(share(a))));
          BOOST_TEST((scattered.dtype() == type && gathered.dtype() == type));
          BOOST_TEST(distance(scattered, share(s * d)) <= 4 * epsilon(type));
          BOOST_TEST(distance(gathered, s.transpose() * a) == 0);
        }
}

BOOST_AUTO_TEST_CASE(a_column_is_gathered_by_its_owner_alone) {
  Int n = 9;
  Index columns({8, 0, 4});
  Matrix part = Selector(n, columns).t_times(as_matrix(share(Dense::Ones(n, 1))));
  for (Int j = 0; j < 3; ++j) {
    bool mine = columns[j] >= n * comm::rank() / comm::size() && columns[j] < n * (comm::rank() + 1) / comm::size();
    BOOST_TEST(part.get(j, 0) == mine);
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  BOOST_CHECK_THROW(Selector(0, Index()), Error);
  BOOST_CHECK_THROW(Selector(5, Index({5})), Error);
  BOOST_CHECK_THROW(Selector(5, Index({-1})), Error);
  Selector s(5, Index({1, 2}));
  BOOST_TEST(s.n() == 5);
  BOOST_CHECK_THROW(s.times(Matrix::zeros(3, 1)), Error);
  BOOST_CHECK_THROW(s.t_times(Matrix::zeros(6, 1)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
