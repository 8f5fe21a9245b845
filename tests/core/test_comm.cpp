// Sums, broadcasts and gathers over the ranks; what each rank contributes is known, so the result is a formula.
#include "core/comm.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

const auto rank = kbcd::comm::rank;
const auto size = kbcd::comm::size;

// Whole numbers, so that sums are exact in f32 too.
Dense contribution(int rank, Int rows, Int cols, int salt) {
  Dense m(rows, cols);
  for (Int i = 0; i < rows; ++i)
    for (Int j = 0; j < cols; ++j) m(i, j) = static_cast<double>((i * 7 + j * 3 + salt) % 101) + 1000.0 * rank;
  return m;
}

Dense total(Int rows, Int cols, int salt) {
  Dense sum = Dense::Zero(rows, cols);
  for (int r = 0; r < size(); ++r) sum += contribution(r, rows, cols, salt);
  return sum;
}

// One matrix of each type and layout, among them an empty one.
std::vector<Matrix> contributions(Int n) {
  Matrix frame = Matrix::zeros(n + 2, 6), block = frame.block(1, n, 2, 3);
  block.copy_from(as_matrix(contribution(rank(), n, 3, 4)));
  return {as_matrix(contribution(rank(), n, 5, 1), DType::f32), as_matrix(contribution(rank(), n, 2, 2), DType::f64),
          as_matrix(contribution(rank(), 4, n, 3), DType::f32).t(), block, Matrix(0, 3, DType::f64)};
}

void check_totals(const std::vector<Matrix>& m, Int n) {
  BOOST_TEST(distance(m[0], total(n, 5, 1)) == 0);
  BOOST_TEST(distance(m[1], total(n, 2, 2)) == 0);
  BOOST_TEST(distance(m[2], total(4, n, 3).transpose()) == 0);
  BOOST_TEST(distance(m[3], total(n, 3, 4)) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(comm)

BOOST_AUTO_TEST_CASE(ranks_are_numbered) {
  BOOST_TEST((rank() >= 0 && rank() < size()));
  double sum = kbcd::comm::allreduce(rank(), kbcd::comm::Reduction::sum);
  BOOST_TEST(sum == size() * (size() - 1) / 2);
  BOOST_TEST((kbcd::comm::node_size() >= 1 && kbcd::comm::node_size() <= size()));
  BOOST_TEST(!kbcd::comm::version().empty());
}

BOOST_AUTO_TEST_CASE(numbers_are_reduced) {
  using kbcd::comm::Reduction;
  double mine = (rank() + 1) * (rank() % 2 ? -1.0 : 1.0), sum = 0, least = mine, most = mine;
  for (int r = 0; r < size(); ++r) {
    double other = (r + 1) * (r % 2 ? -1.0 : 1.0);
    sum += other;
    least = std::min(least, other);
    most = std::max(most, other);
  }
  BOOST_TEST(kbcd::comm::allreduce(mine, Reduction::sum) == sum);
  BOOST_TEST(kbcd::comm::allreduce(mine, Reduction::min) == least);
  BOOST_TEST(kbcd::comm::allreduce(mine, Reduction::max) == most);
}

// Small matrices share a message, large ones travel alone: the result is the same.
BOOST_AUTO_TEST_CASE(matrices_of_any_size_type_and_layout_are_summed) {
  for (Int n : {1, 50, 300000}) {
    auto m = contributions(n);
    kbcd::comm::allreduce(m);
    check_totals(m, n);
  }
  kbcd::comm::allreduce(std::vector<Matrix>{});
}

// Replicated states rely on it. The sums are of thirds, which no type holds; sizes on both sides of what travels with
// the comparison of a call.
BOOST_AUTO_TEST_CASE(sums_are_the_same_on_every_rank_to_the_bit) {
  for (Int n : {7, 3000, 200000})
    for (DType type : {DType::f32, DType::f64}) {
      Dense mine(n, 1);
      for (Int i = 0; i < n; ++i) mine(i, 0) = (i + rank() + 1) / 3.0;
      Matrix sum = as_matrix(mine, type), first = sum.clone();
      kbcd::comm::allreduce({sum});
      first.copy_from(sum);
      kbcd::comm::bcast({first}, 0);
      BOOST_TEST(distance(sum, dense(first)) == 0);
      Dense expected = Dense::Zero(n, 1);
      for (int r = 0; r < size(); ++r)
        for (Int i = 0; i < n; ++i) expected(i, 0) += (i + r + 1) / 3.0;
      BOOST_TEST(distance(sum, expected) <= (type == DType::f32 ? 1e-6 : 1e-14) * expected.norm());
    }
}

BOOST_AUTO_TEST_CASE(symmetric_sums_reach_their_root) {
  for (DType type : {DType::f32, DType::f64})
    for (Int n : {1, 7, 300}) {
      int root = size() - 1;
      Matrix a(n, n, type);
      for (Int i = 0; i < n; ++i)
        for (Int j = 0; j < n; ++j) a.set(i, j, j <= i ? rank() + i * n + j : -1e9);  // the upper triangle is not read
      kbcd::comm::Request sum(a, root);
      sum.wait();
      if (rank() != root || size() == 1) continue;
      double ranks = size() * (size() - 1) / 2.0;
      for (Int i = 0; i < n; ++i)
        for (Int j = 0; j < n; ++j)
          BOOST_REQUIRE_EQUAL(a.get(i, j), ranks + size() * (std::max(i, j) * n + std::min(i, j)));
    }
  Matrix symmetric = as_matrix(Dense{{1, 2, 3}, {2, 4, 5}, {3, 5, 6}});
  kbcd::comm::Request transposed(symmetric.t(), 0);
  transposed.wait();
  if (rank() == 0) BOOST_TEST(distance(symmetric, size() * Dense{{1, 2, 3}, {2, 4, 5}, {3, 5, 6}}) == 0);
  BOOST_CHECK_THROW(kbcd::comm::Request(Matrix::zeros(2, 3), 0), Error);
  BOOST_CHECK_THROW(kbcd::comm::Request(Matrix::zeros(2, 2), size()), Error);
}

BOOST_AUTO_TEST_CASE(a_sum_writes_nothing_beside_its_view) {
  Matrix frame = Matrix::zeros(4, 4);
  Matrix inner = frame.block(1, 2, 1, 2);
  inner.copy_from(as_matrix(Dense::Ones(2, 2)));
  kbcd::comm::allreduce(std::vector<Matrix>{inner});
  Dense expected = Dense::Zero(4, 4);
  expected.block(1, 1, 2, 2).setConstant(size());
  BOOST_TEST(distance(frame, expected) == 0);
}

BOOST_AUTO_TEST_CASE(a_sum_begun_early_is_the_same) {
  auto a = contributions(40), b = contributions(70);
  kbcd::comm::Request first(a), second(b), none({});
  while (!second.done()) {
  }
  first.wait();
  first.wait();  // again: nothing to do
  none.wait();
  BOOST_TEST((first.done() && none.done()));
  check_totals(a, 40);
  check_totals(b, 70);
}

BOOST_AUTO_TEST_CASE(every_rank_can_be_the_root) {
  for (int root = 0; root < size(); ++root)
    for (DType type : both_types)
      for (bool transposed : {false, true}) {
        Matrix m = as_matrix(contribution(rank(), 6, 4, 9), type);
        kbcd::comm::bcast({transposed ? m.t() : m}, root);
        BOOST_TEST(distance(m, contribution(root, 6, 4, 9)) == 0);
      }
  kbcd::comm::bcast({Matrix(0, 3, DType::f64)}, 0);
  for (Int n : {50, 100000}) {  // several matrices of both types
    int root = size() - 1;
    auto m = contributions(n);
    kbcd::comm::bcast(m, root);
    BOOST_TEST(distance(m[0], contribution(root, n, 5, 1)) == 0);
    BOOST_TEST(distance(m[1], contribution(root, n, 2, 2)) == 0);
    BOOST_TEST(distance(m[2], contribution(root, 4, n, 3).transpose()) == 0);
    BOOST_TEST(distance(m[3], contribution(root, n, 3, 4)) == 0);
  }
  BOOST_CHECK_THROW(kbcd::comm::bcast({Matrix(1, 1, DType::f64)}, size()), Error);
  BOOST_CHECK_THROW(kbcd::comm::bcast({Matrix(1, 1, DType::f64)}, -1), Error);
}

BOOST_AUTO_TEST_CASE(texts_are_broadcast_byte_by_byte) {
  for (int root = 0; root < size(); ++root) {
    std::string content = "root " + std::to_string(root) + std::string("\0\n\xff", 3) + std::string(5000, 'x');
    for (const std::string& sent : {content, std::string()}) {
      std::string text = rank() == root ? sent : "something else on rank " + std::to_string(rank());
      kbcd::comm::bcast(text, root);
      BOOST_TEST((text == sent));
      text = rank() == root ? sent : "old";
      kbcd::comm::bcast_idle(text, root);
      BOOST_TEST((text == sent));
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_of_all_ranks_one_after_the_other) {
  for (DType type : both_types)
    for (bool transposed : {false, true}) {
      Int mine = rank() % 3;  // rank 0 has none
      Dense here = contribution(rank(), mine, 5, 2);
      Matrix m = transposed ? as_matrix(here.transpose(), type).t() : as_matrix(here, type);
      Dense expected(0, 5);
      for (int r = 0; r < size(); ++r) {
        Dense more(expected.rows() + r % 3, 5);
        more << expected, contribution(r, r % 3, 5, 2);
        expected = more;
      }
      BOOST_TEST(distance(kbcd::comm::allgather(m), expected) == 0);
    }
}

BOOST_AUTO_TEST_CASE(rows_are_gathered_in_the_order_asked_for) {
  for (Int n : {1, 2, 3, 10, 57})
    for (DType type : both_types) {
      Dense all = normal(n, 4, 5, type);
      Matrix local = as_matrix(share(all), type);
      for (const Index& rows :
           {Index::range(0, n), Index::permutation(n, 1, 0), Index({n - 1, 0, n / 2, 0}), Index()}) {
        Dense expected = rows_of(all, rows);
        auto layout = kbcd::comm::layout(n);
        BOOST_TEST(distance(kbcd::comm::gather_rows(local, layout, rows), expected) == 0);
        Matrix stored_by_columns = as_matrix(share(all).transpose(), type).t();
        BOOST_TEST(distance(kbcd::comm::gather_rows(stored_by_columns, layout, rows), expected) == 0);
        Matrix mine = as_matrix(rows_of(expected, Index(layout.owned_positions(rows, rank()))), type);
        BOOST_TEST(distance(kbcd::comm::allgather_owned(mine, layout, rows), expected) == 0);
      }
    }
}

BOOST_AUTO_TEST_CASE(barriers_end_when_all_are_there) {
  kbcd::comm::barrier();
  BOOST_TEST(kbcd::comm::barrier_within(60));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
