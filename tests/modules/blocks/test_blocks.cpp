// KernelBlock and RandomFeaturesBlock: every product, kept in memory or streamed, against naive dense matrices.
#include "tests/support/block_examples.hpp"

namespace kbcd::tests {
namespace {

void check_products(Block& block, const Dense& all, const Dense& mine) {
  DType type = block.dtype();
  double near = tolerance(type);
  Dense a = normal(all.rows(), 3, 3, type), w = normal(all.cols(), 4, 4, type);
  BOOST_TEST(block.rows() == mine.rows());
  BOOST_TEST(block.cols() == all.cols());
  Dense a_mine = share(a);
  Matrix t_times = summed(block.t_times(as_matrix(a_mine, type)));
  BOOST_TEST((t_times.dtype() == DType::f64));
  BOOST_TEST(relative_distance(t_times, all.transpose() * a) <= near);
  BOOST_TEST(relative_distance(summed(block.t_times(as_matrix(a_mine.transpose()).t())), all.transpose() * a) <= near);
  BOOST_TEST(relative_distance(block.times(as_matrix(w)), mine * w) <= near);
  BOOST_TEST(relative_distance(block.times(as_matrix(w.transpose(), DType::f32).t()),
                               mine * w.cast<float>().cast<double>()) <= near);
  for (DType precision : both_types) {
    Matrix gram = block.gram(precision);
    BOOST_TEST((gram.dtype() == precision));
    BOOST_TEST(distance(dense(gram), dense(gram).transpose()) == 0);
    comm::allreduce(std::vector<Matrix>{gram});
    BOOST_TEST(relative_distance(gram, all.transpose() * all) <= std::max(near, tolerance(precision)));
  }
  Int some = block.rows() / 2;
  BOOST_TEST(distance(block.dense(some, block.rows() - some), mine.bottomRows(block.rows() - some)) <= near);
  BOOST_TEST(distance(block.dense(), mine) <= near);
  BOOST_TEST(distance(block.dense(0, some), mine.topRows(some)) <= near);
  BOOST_CHECK_THROW(block.dense(some, block.rows() + 1), Error);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(blocks)

BOOST_AUTO_TEST_CASE(products_kept_and_streamed) {
  for (std::size_t bytes : {plenty, std::size_t{1}}) {
    Budget budget(bytes);
    for (DType type : both_types)
      for (auto& [what, block, all] : examples(type)) {
        BOOST_TEST_CONTEXT(what << " " << name(type) << " within " << bytes << " bytes") {
          check_products(*block, all, share(all));
          BOOST_TEST(block->kept() == (block->bytes() <= bytes));
          if (block->kept()) check_products(*block, all, share(all));
        }
      }
  }
}

// The f64 Gram of f32 entries must lose nothing beyond the entries' own rounding.
BOOST_AUTO_TEST_CASE(an_f64_gram_of_f32_entries_is_a_sum_in_f64) {
  for (std::size_t bytes : {plenty, std::size_t{1}}) {
    Budget budget(bytes);
    for (auto& [what, block, all] : examples(DType::f32)) {
      Dense entries = dense(block->dense());
      BOOST_TEST(
          relative_distance(block->gram(DType::f64), entries.transpose() * entries) <= (block->kept() ? 1e-13 : 1e-6),
          what);
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_of_all_ranks_on_every_rank) {
  Index some({n - 1, 0, 700, 0, 5, 699});
  for (DType type : both_types)
    for (bool filled : {false, true})
      for (auto& [what, block, all] : examples(type)) {
        if (filled) block->dense();
        BOOST_TEST(distance(block->rows(some), rows_of(all, some)) <= tolerance(type), what);
        BOOST_TEST(distance(block->rows(Index::range(0, n)), all) <= tolerance(type), what);
        BOOST_TEST(block->rows(Index()).shape() == fmt::format("0x{}", b));
        BOOST_CHECK_THROW(block->rows(Index({n})), Error);
        BOOST_CHECK_THROW(block->rows(Index({-1})), Error);
      }
}

// {rows = J}: those of J that live here, in the order of J; on many ranks some have none.
BOOST_AUTO_TEST_CASE(blocks_of_chosen_rows) {
  for (std::size_t bytes : {plenty, std::size_t{1}}) {
    Budget budget(bytes);
    for (DType type : both_types)
      for (const Index& j : {Index::sample(n, 600, 5, 0), Index({2, 1, 2}), Index()}) {
        Dense x = normal(n, d, 1, type);
        DataSet data = DataSet::from_matrix(as_matrix(x, type));
        Index columns = Index::sample(n, b, 1, 0);
        Dense all = naive_rbf(gamma)(rows_of(x, j), rows_of(x, columns));
        Dense mine = rows_of(all, Index(data.layout().owned_positions(j, comm::rank())));
        auto block = kernel_block(data, columns, rbf(), j, data);
        BOOST_TEST(distance(block->dense(), mine) <= tolerance(type));
        Dense a = normal(mine.rows(), 2, 6, type), w = normal(b, 2, 7, type);
        BOOST_TEST(relative_distance(block->t_times(as_matrix(a)), mine.transpose() * a) <= tolerance(type));
        BOOST_TEST(relative_distance(block->times(as_matrix(w)), mine * w) <= tolerance(type));
        BOOST_TEST(relative_distance(summed(block->gram(DType::f64)), all.transpose() * all) <= tolerance(type));
        BOOST_CHECK_EXCEPTION(block->rows(Index({0})), Error, mentions("rows ="));
        auto features = random_features_block(data, Index::range(0, 8), fourier(20, 1), j);
        Dense z = naive_features(rows_of(x, j), Index::range(0, 8), 20, 1);
        BOOST_TEST(relative_distance(summed(features->gram(DType::f64)), z.transpose() * z) <= tolerance(type));
      }
  }
}

BOOST_AUTO_TEST_CASE(centres_of_another_data_set_of_either_type) {
  for (DType type : both_types)
    for (DType other : both_types) {
      Dense x = normal(50, d, 8, type), c = normal(7, d, 9, other);
      Index columns({6, 0, 3});
      auto block = kernel_block(DataSet::from_matrix(as_matrix(x, type)), columns, rbf(), {},
                                DataSet::from_matrix(as_matrix(c, other)));
      Dense expected = naive_rbf(gamma)(x, rows_of(c, columns));
      BOOST_TEST((block->dtype() == type));
      BOOST_TEST(distance(block->dense(), share(expected)) <= tolerance(type));
    }
  DataSet x = DataSet::from_matrix(as_matrix(normal(5, 3, 1))),
          wider = DataSet::from_matrix(as_matrix(normal(5, 4, 1)));
  BOOST_CHECK_THROW(kernel_block(x, Index({0}), rbf(), {}, wider), Error);
  BOOST_CHECK_THROW(kernel_block(x, Index({5}), rbf(), {}, x), Error);
  BOOST_CHECK_THROW(kernel_block(x, Index(), rbf(), {}, x), Error);
  BOOST_CHECK_THROW(kernel_block(x, Index({0}), rbf(), Index({5}), x), Error);
}

BOOST_AUTO_TEST_CASE(fewer_rows_than_ranks) {
  for (std::size_t bytes : {plenty, std::size_t{1}})
    for (Int rows : {1, 2, 3})
      for (DType type : both_types) {
        Budget budget(bytes);
        Dense x = normal(rows, d, 10, type);
        DataSet data = DataSet::from_matrix(as_matrix(x, type));
        Index all = Index::range(0, rows);
        Dense k = naive_rbf(gamma)(x, x);
        auto block = kernel_block(data, all, rbf(), {}, data);
        check_products(*block, k, share(k));
        BOOST_TEST(distance(block->rows(all), k) <= tolerance(type));
      }
}

// Gram and transposed product from one pass, each entry computed once even when nothing is kept.
BOOST_AUTO_TEST_CASE(normal_equations_in_one_pass) {
  for (std::size_t bytes : {plenty, std::size_t{1}}) {
    Budget budget(bytes);
    for (DType type : both_types)
      for (auto& [what, block, all] : examples(type)) {
        Dense a = normal(n, 3, 3, type);
        double before = timers::counter("kernel entries") + timers::counter("feature entries");
        auto both = block->normal(as_matrix(share(a), type), DType::f64);
        double entries = timers::counter("kernel entries") + timers::counter("feature entries") - before;
        BOOST_TEST(entries == static_cast<double>(block->rows() * block->cols()), what);
        BOOST_TEST(relative_distance(summed(both.gram), all.transpose() * all) <= tolerance(type), what);
        BOOST_TEST(relative_distance(summed(both.t_times), all.transpose() * a) <= tolerance(type), what);
        BOOST_CHECK_THROW(block->normal(Matrix::zeros(block->rows() + 1, 2), type), Error);
      }
  }
}

// Both products from one pass, to the bit as from two, each entry computed once even when nothing is kept.
BOOST_AUTO_TEST_CASE(both_products_in_one_pass) {
  for (std::size_t bytes : {plenty, std::size_t{1}}) {
    Budget budget(bytes);
    for (DType type : both_types)
      for (auto& [what, block, all] : examples(type)) {
        Matrix a = as_matrix(share(normal(n, 3, 3, type)), type), w = as_matrix(normal(b, 2, 4, type));
        double before = timers::counter("kernel entries") + timers::counter("feature entries");
        auto both = block->both(w, a);
        double entries = timers::counter("kernel entries") + timers::counter("feature entries") - before;
        if (block->rows() > 0) BOOST_TEST(entries == static_cast<double>(block->rows() * block->cols()), what);
        BOOST_TEST(largest_difference(both.times, block->times(w)) == 0);
        BOOST_TEST(largest_difference(both.t_times, block->t_times(a)) == 0);
        auto zero = block->both(w, Matrix::zeros(block->rows(), 3));
        BOOST_TEST(largest_difference(zero.times, both.times) == 0);
        BOOST_TEST(all_zero(zero.t_times));
        BOOST_CHECK_THROW(block->both(a, w), Error);
      }
  }
}

// Scales of rows and columns, in every product, of all and of some rows, dense and sparse, kept in any way.
BOOST_AUTO_TEST_CASE(scaled_rows_and_columns) {
  Dense x = normal(n, d, 1, DType::f32), r = normal(n, 1, 7, DType::f32), c = normal(b, 1, 8, DType::f32);
  Index columns = Index::sample(n, b, 1, 0), some = Index::sample(n, 300, 3, 0);
  struct Case {
    std::shared_ptr<Kernel> kernel;
    Dense exact;
  };
  Dense centers = rows_of(x, columns);
  for (auto& [of, plain] : {Case{rbf(), naive_rbf(gamma)(x, centers)},
                            Case{kernel("linear", {}), x * centers.transpose()}})  // may multiply without entries
    for (bool sparse : {false, true})
      for (Keep keep : {Keep::while_it_fits, Keep::exact, Keep::f16, Keep::none}) {
        DType type = keep == Keep::f16 ? DType::f32 : DType::f64;
        DataSet data = DataSet::from_matrix(as_matrix(x, type));
        if (sparse) data = data.to_sparse();
        Dense exact = r.col(0).asDiagonal() * plain * c.col(0).asDiagonal();
        BlockOptions options{keep, as_matrix(share(r)), as_matrix(c)};
        double near = keep == Keep::f16 ? 3e-3 : 1e-6;
        Dense a = normal(n, 2, 3, type), w = normal(b, 2, 4, type);
        auto block = kernel_block(data, columns, of, {}, data, options);
        BOOST_TEST(relative_distance(block->times(as_matrix(w)), share(exact) * w) <= near);
        BOOST_TEST(relative_distance(summed(block->t_times(as_matrix(share(a)))), exact.transpose() * a) <= near);
        BOOST_TEST(relative_distance(summed(block->gram(DType::f64)), exact.transpose() * exact) <= near);
        BOOST_TEST(relative_distance(block->dense(), share(exact)) <= near);
        BOOST_TEST(relative_distance(block->rows(Index({n - 1, 3})), rows_of(exact, Index({n - 1, 3}))) <= near);
        Dense square = c.col(0).asDiagonal() * rows_of(plain, columns) * c.col(0).asDiagonal();
        BOOST_TEST(relative_distance(block->square(), square) <= 1e-5);
        auto part = kernel_block(data, columns, of, some, data, options);
        Dense here = rows_of(exact, some), mine(part->rows(), b);
        auto own = data.layout().owned_positions(some, comm::rank());
        for (Int i = 0; i < mine.rows(); ++i) mine.row(i) = here.row(own[i]);
        BOOST_TEST(relative_distance(part->times(as_matrix(w)), mine * w) <= near);
        BOOST_TEST(relative_distance(part->t_times(as_matrix(mine * w)), mine.transpose() * (mine * w)) <= near);
      }
  DataSet data = DataSet::from_matrix(as_matrix(x));
  auto features =
      random_features_block(data, Index::range(0, 5), fourier(500, 9), {}, {.row_scale = as_matrix(share(r))});
  Dense exact = r.col(0).asDiagonal() * naive_features(x, Index::range(0, 5), 500, 9);
  BOOST_TEST(relative_distance(features->dense(), share(exact)) <= 1e-6);
  auto refused = [&](const BlockOptions& options) {
    BOOST_CHECK_THROW(kernel_block(data, columns, rbf(), {}, data, options), Error);
  };
  refused({.row_scale = Matrix::zeros(data.local_n() + 1, 1)});
  refused({.column_scale = Matrix::zeros(1, b)});
  Matrix nan = Matrix::zeros(b, 1);
  nan.set(3, 0, std::nan(""));
  refused({.column_scale = nan});
}

// K(I, I) of a block's own centres, of sizes with several panels, of sparse rows and of any metric, on one rank alone.
BOOST_AUTO_TEST_CASE(squares_of_centres) {
  for (DType type : both_types)
    for (Int size : {1, 37, 300})
      for (bool sparse : {false, true}) {
        Dense x = normal(n, d, 1, type);
        DataSet data = DataSet::from_matrix(as_matrix(x, type));
        if (sparse) data = data.to_sparse();
        Index rows = Index::sample(n, size, 4, 0);
        auto block = kernel_block(data, rows, rbf(), {}, data);
        if (comm::rank() == comm::size() - 1)
          BOOST_TEST(distance(block->square(), naive_rbf(gamma)(rows_of(x, rows), rows_of(x, rows))) <=
                     tolerance(type));
        for (auto& other : {kernel("linear", {}), kernel("laplacian", {{"sigma", 3}}), kernel("cosine", {})}) {
          auto block = kernel_block(data, rows, other, {}, data);
          BOOST_TEST(distance(block->square(), dense(block->rows(rows))) <= 40 * tolerance(type));
        }
      }
  DataSet data = DataSet::from_matrix(as_matrix(normal(n, d, 1)));
  BOOST_CHECK_THROW(random_features_block(data, Index({0}), fourier(8, 1), {})->square(), Error);
}

BOOST_AUTO_TEST_CASE(operands_of_the_wrong_shape_are_refused) {
  for (auto& [what, block, all] : examples(DType::f64)) {
    BOOST_CHECK_THROW(block->t_times(Matrix::zeros(block->rows() + 1, 2)), Error);
    BOOST_CHECK_THROW(block->times(Matrix::zeros(b + 1, 2)), Error);
    BOOST_TEST(block->times(Matrix(b, 0, DType::f64)).shape() == fmt::format("{}x0", block->rows()));
    BOOST_TEST(block->t_times(Matrix(block->rows(), 0, DType::f64)).shape() == fmt::format("{}x0", b));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
