// KernelTriangle and its columns against the naive kernel matrix: kept, in part or not at all, in f16, with scales,
// dense and sparse, with ragged tiles and more tiles than rows of a rank.
#include "modules/blocks/kernel_columns.hpp"
#include "tests/support/block_examples.hpp"

namespace kbcd::tests {
namespace {

constexpr Int rows = 230, tile = 17;

struct Case {
  Keep keep;
  std::size_t budget;
  bool sparse, scaled;
};

Dense masked(Dense x) {
  for (Int i = 0; i < x.rows(); ++i)
    for (Int j = 0; j < x.cols(); ++j)
      if ((3 * i + 5 * j) % 4 == 0) x(i, j) = 0;
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_triangle)

BOOST_AUTO_TEST_CASE(products_are_those_of_the_naive_matrix) {
  for (DType type : both_types)
    for (auto& c : {Case{Keep::exact, plenty, false, false}, Case{Keep::exact, plenty, true, true},
                    Case{Keep::exact, 70000, false, true}, Case{Keep::none, plenty, true, false},
                    Case{Keep::f16, plenty, false, false}}) {
      if (c.keep == Keep::f16 && type == DType::f64) continue;
      Budget budget(c.budget);
      Dense x = masked(normal(rows, d, 1, type)), s = normal(rows, 1, 2).cwiseAbs(), k = naive_rbf(gamma)(x, x);
      if (c.scaled) k = s.asDiagonal() * k * s.asDiagonal();
      DataSet data = DataSet::from_matrix(as_matrix(x, type));
      if (c.sparse) data = data.to_sparse();
      KernelTriangle::Options options{.tile = tile, .group = 3, .keep = c.keep};
      if (c.scaled) options.scale = as_matrix(share(s));
      Index order = Index::permutation(rows, 3, 0);
      auto triangle = std::make_shared<KernelTriangle>(data, rbf(), order, options);
      BOOST_TEST(triangle->stays() == (c.keep != Keep::none && c.budget == plenty));
      BOOST_TEST(triangle->tiles() == (rows + tile - 1) / tile);
      double limit = c.keep == Keep::f16 ? 2e-2 : 10 * tolerance(type);
      Dense v = normal(rows, 3, 4);
      for (int pass = 0; pass < 2; ++pass)
        BOOST_TEST(distance(triangle->times(as_matrix(share(v))), share(k * v)) <= limit);
      Dense many = normal(rows, 70, 6);
      BOOST_TEST(distance(triangle->times(as_matrix(share(many))), share(k * many)) <= limit);
      v.topRows(rows / 2).setZero();  // some tiles are 0
      BOOST_TEST(distance(triangle->times(as_matrix(share(v))), share(k * v)) <= limit);
      if (!triangle->stays()) continue;
      Index tiles(std::vector<Int>{4, 13, 0, 5});  // 13: the short last one
      KernelColumns columns(triangle, tiles);
      Dense part = rows_of(k, columns.columns());
      BOOST_TEST(columns.cols() == 3 * tile + rows - 13 * tile);
      BOOST_TEST(distance(summed(columns.t_times(as_matrix(share(v)))), part * v) <= limit);
      BOOST_TEST(distance(columns.square(), rows_of(part.transpose(), columns.columns()).transpose()) <= limit);
      Dense w = normal(columns.cols(), 2, 5);
      BOOST_TEST(distance(columns.times(as_matrix(w)), share(part.transpose() * w)) <= limit);
      triangle->release();
      BOOST_TEST(triangle->entries() == 0);
      BOOST_TEST(distance(triangle->times(as_matrix(share(v))), share(k * v)) <= limit);
    }
}

// Pieces whose product is 0 or not wanted are not computed; what is kept is reserved, and given back.
BOOST_AUTO_TEST_CASE(only_what_is_needed_is_computed) {
  Dense x = normal(rows, d, 1);
  DataSet data = DataSet::from_matrix(as_matrix(x));
  auto before = memory::reserved();
  {
    auto triangle = std::make_shared<KernelTriangle>(data, rbf(), Index::range(0, rows),
                                                     KernelTriangle::Options{.tile = 23, .group = 1});
    BOOST_TEST(memory::reserved() > before);
    BOOST_TEST(distance(triangle->times(Matrix::zeros(data.local_n(), 2)), Dense::Zero(data.local_n(), 2)) == 0);
    BOOST_TEST(triangle->entries() == 0);
    Dense v = Dense::Zero(rows, 1);
    v.topRows(23).setOnes();
    Dense k = naive_rbf(gamma)(x, x);
    KernelColumns columns(triangle, Index(std::vector<Int>{0}));
    BOOST_TEST(distance(summed(columns.t_times(as_matrix(share(v)))), k.topRows(23) * v) <= 1e-12);
    BOOST_TEST(comm::allreduce(static_cast<double>(triangle->entries()), comm::Reduction::sum) == 23 * 23);
  }
  BOOST_TEST(memory::reserved() == before);
  BOOST_CHECK_THROW(KernelTriangle(data, rbf(), Index::range(0, rows - 1), {}), Error);
  BOOST_CHECK_THROW(KernelTriangle(data, rbf(), Index(std::vector<Int>(rows, 0)), {}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
