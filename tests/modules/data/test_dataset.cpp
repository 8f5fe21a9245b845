// DataSet: each rank's share, rows gathered and distributed anew, and the refusal of what is no data.
#include "modules/data/dataset.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

bool refused(const std::function<void()>& make, const std::string& mention) {
  try {
    make();
  } catch (const Error& error) {
    BOOST_TEST(mentions(mention)(error), error.what());
    return true;
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dataset)

BOOST_AUTO_TEST_CASE(each_rank_keeps_its_rows_of_a_matrix) {
  for (Int n : {1, 2, 3, 10, 41})
    for (DType type : both_types)
      for (bool transposed : {false, true}) {
        Dense all = normal(n, 3, 1, type);
        DataSet x = DataSet::from_matrix(transposed ? as_matrix(all.transpose(), type).t() : as_matrix(all, type));
        BOOST_TEST(x.n() == n);
        BOOST_TEST(x.d() == 3);
        BOOST_TEST((x.dtype() == type));
        BOOST_TEST(x.first() == n * comm::rank() / comm::size());
        BOOST_TEST(distance(x.local(), share(all)) == 0);
        BOOST_TEST(distance(comm::allgather(x.local()), all) == 0);
      }
}

BOOST_AUTO_TEST_CASE(a_data_set_is_a_copy) {
  Matrix all = as_matrix(normal(8, 2, 1));
  DataSet x = DataSet::from_matrix(all);
  Dense before = dense(x.local());
  all.set(8 * comm::rank() / comm::size(), 0, 99);
  BOOST_TEST(distance(x.local(), before) == 0);
}

BOOST_AUTO_TEST_CASE(rows_are_generated_where_they_live) {
  for (Int n : {1, 3, 25})
    for (DType type : both_types) {
      Dense all = normal(n, 4, 2, type);
      DataSet x =
          DataSet::generate(n, 4, [&](Int first, Int count) { return as_matrix(all.middleRows(first, count), type); });
      BOOST_TEST((x.dtype() == type));  // on a rank without rows too
      BOOST_TEST(distance(x.local(), share(all)) == 0);
    }
  auto wrong_width = [](Int, Int count) { return Matrix::zeros(count, 3); };
  BOOST_CHECK_THROW(DataSet::generate(12, 4, wrong_width), Error);
  BOOST_CHECK_THROW(DataSet::generate(0, 4, wrong_width), Error);
  BOOST_CHECK_THROW(DataSet::generate(4, 0, wrong_width), Error);
  if (comm::size() > 1) {
    auto mixed = [](Int first, Int count) { return Matrix::zeros(count, 1, first ? DType::f32 : DType::f64); };
    BOOST_CHECK_EXCEPTION(DataSet::generate(12, 1, mixed), Error, mentions("one type"));
  }
}

BOOST_AUTO_TEST_CASE(rows_can_be_gathered_and_spread_anew) {
  for (Int n : {1, 3, 10000})
    for (DType type : both_types) {
      Dense all = normal(n, 2, 3, type);
      DataSet x = DataSet::from_matrix(as_matrix(all, type));
      // The permutation is longer than the pieces in which a subset travels.
      for (const Index& rows : {Index::permutation(n, 1, 0), Index({n - 1, 0, n - 1}), Index({n / 2})}) {
        Dense expected = rows_of(all, rows);
        BOOST_TEST(distance(x.gather(rows), expected) == 0);
        DataSet subset = x.subset(rows);
        BOOST_TEST(subset.n() == rows.size());
        BOOST_TEST((subset.dtype() == type));
        BOOST_TEST(distance(subset.local(), share(expected)) == 0);
        Index here = x.local_rows(rows);
        BOOST_TEST(distance(dense(x.local())(here.values(), ::Eigen::all),
                            rows_of(expected, Index(x.layout().owned_positions(rows, comm::rank())))) == 0);
      }
      BOOST_CHECK_THROW(x.gather(Index({n})), Error);
      BOOST_CHECK_THROW(x.subset(Index({-1})), Error);
      BOOST_CHECK_THROW(x.subset(Index()), Error);
      BOOST_CHECK_THROW(x.local_rows(Index({n})), Error);
    }
}

BOOST_AUTO_TEST_CASE(types_can_be_changed) {
  Dense all = normal(11, 3, 4);
  DataSet x = DataSet::from_matrix(as_matrix(all)), y = x.to(DType::f32);
  BOOST_TEST((y.dtype() == DType::f32));
  BOOST_TEST(distance(y.local(), share(all.cast<float>().cast<double>())) == 0);
  BOOST_TEST(distance(x.to(DType::f64).local(), share(all)) == 0);
}

// The owner of the row refuses, and names it as the user counts: from 1, over all ranks.
BOOST_AUTO_TEST_CASE(numbers_that_are_none_are_refused_by_place) {
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
    for (DType type : both_types)
      for (Int row : {0, 5, 12}) {
        Dense all = normal(13, 4, 5);
        all(row, 2) = bad;
        bool threw =
            refused([&] { DataSet::from_matrix(as_matrix(all, type)); }, fmt::format("row {}, column 3", row + 1));
        BOOST_TEST(on_some_rank(threw));
        BOOST_TEST(threw == (comm::layout(13).owner(row) == comm::rank()));
      }
  Dense huge = Dense::Constant(8, 2, 1e300);
  BOOST_CHECK_THROW(DataSet::from_matrix(as_matrix(huge)).to(DType::f32), Error);
}

BOOST_AUTO_TEST_CASE(shares_that_do_not_add_up_are_refused) {
  BOOST_CHECK_EXCEPTION(DataSet(3, Matrix::zeros(7, 2), "here"), Error, mentions("here"));
  BOOST_CHECK_THROW(DataSet(0, Matrix(0, 2, DType::f64), "here"), Error);
  BOOST_CHECK_THROW(DataSet::from_matrix(Matrix(0, 3, DType::f64)), Error);
  BOOST_CHECK_THROW(DataSet::from_matrix(Matrix(3, 0, DType::f64)), Error);
}

BOOST_AUTO_TEST_CASE(a_fingerprint_tells_data_apart) {
  for (DType type : both_types) {
    Matrix all = as_matrix(normal(23, 3, 1), type), changed = all.clone(), swapped = all.clone();
    changed.set(22, 2, changed.get(22, 2) * (1 + 1e-6));
    swapped.row_block(4, 1).copy_from(all.row_block(17, 1));
    swapped.row_block(17, 1).copy_from(all.row_block(4, 1));
    DataSet x = DataSet::from_matrix(all);
    std::string print = x.fingerprint();
    BOOST_TEST(print.size() == 16);
    BOOST_TEST(print == DataSet::from_matrix(all.t().clone().t()).fingerprint());
    for (auto& other : {changed, swapped, all.row_block(0, 22).clone(), all.col_block(0, 2).clone()})
      BOOST_TEST(print != DataSet::from_matrix(other).fingerprint());
    BOOST_TEST(print != x.to_sparse().fingerprint());
    BOOST_TEST(x.to_sparse().fingerprint() != DataSet::from_matrix(changed).to_sparse().fingerprint());
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
