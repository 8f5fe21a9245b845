// Which blocks stay in memory, in which type, what that costs, and that results do not depend on it.
#include "tests/support/block_examples.hpp"

namespace kbcd::tests {

BOOST_AUTO_TEST_SUITE(kept_blocks)

// Four blocks in a budget for two and a half: the one used longest ago goes, and every result stays right.
BOOST_AUTO_TEST_CASE(old_blocks_are_released) {
  Dense x = normal(n, d, 1);
  DataSet data = DataSet::from_matrix(as_matrix(x));
  std::vector<std::shared_ptr<Block>> blocks;
  std::vector<Dense> expected;
  for (std::uint32_t k = 0; k < 4; ++k) {
    Index columns = Index::sample(n, b, 1, k);
    blocks.push_back(kernel_block(data, columns, rbf(), {}, data));
    expected.push_back(share(naive_rbf(gamma)(x, rows_of(x, columns))));
  }
  Budget budget(blocks[0]->bytes() * 5 / 2);
  Dense w = normal(b, 2, 11);
  std::vector<int> recent;  // the last two that were used
  for (int k : {0, 1, 2, 1, 3, 0, 0, 2, 3, 1}) {
    BOOST_TEST(relative_distance(blocks[k]->times(as_matrix(w)), expected[k] * w) <= 1e-12);
    std::erase(recent, k);
    recent.push_back(k);
    if (recent.size() > 2) recent.erase(recent.begin());
    for (int i = 0; i < 4; ++i) {
      bool used_lately = std::find(recent.begin(), recent.end(), i) != recent.end();
      BOOST_TEST(blocks[i]->kept() == used_lately, "block " << i << " after a use of " << k);
    }
  }
  blocks[1]->release();
  BOOST_TEST(!blocks[1]->kept());
  BOOST_TEST(distance(blocks[1]->dense(), expected[1]) <= 1e-12);
}

BOOST_AUTO_TEST_CASE(a_gram_is_a_use_too) {
  DataSet data = DataSet::from_matrix(as_matrix(normal(n, d, 1)));
  auto make = [&](std::uint32_t k) { return kernel_block(data, Index::sample(n, b, 1, k), rbf(), {}, data); };
  auto first = make(0), second = make(1), third = make(2);
  Budget budget(first->bytes() * 5 / 2);
  for (auto& block : {first, second, first, third}) block->gram(DType::f64);
  BOOST_TEST(first->kept());
  BOOST_TEST(!second->kept());
}

// Blocks that stay are not pushed out, leave memory for one of their size, and release theirs.
BOOST_AUTO_TEST_CASE(blocks_that_stay) {
  DataSet data = DataSet::from_matrix(as_matrix(normal(n, d, 1)));
  auto make = [&](std::uint32_t k, Keep keep) {
    return kernel_block(data, Index::sample(n, b, 1, k), rbf(), {}, data, {keep});
  };
  std::size_t before = memory::reserved();
  auto first = make(0, Keep::exact), second = make(1, Keep::exact), third = make(2, Keep::exact);
  auto passing = make(3, Keep::while_it_fits), other = make(4, Keep::while_it_fits);
  {
    Budget budget(before + first->bytes() * 7 / 2);
    for (auto& block : {passing, first, second, third, other, passing, other}) block->dense();
    BOOST_TEST((first->stays() && second->stays() && first->kept() && second->kept()));
    BOOST_TEST((!third->stays() && !third->kept()));  // it would have left no memory
    BOOST_TEST((other->kept() && !passing->kept()));
    second->release();
    third->dense();
    BOOST_TEST((third->stays() && !other->kept()));  // `other` was released, so that memory is left
  }
  first = second = third = passing = other = nullptr;
  BOOST_TEST(memory::reserved() == before);
}

// A product with 0 computes no entry, and a block that began with one passes through its next product unkept.
BOOST_AUTO_TEST_CASE(products_with_zero) {
  auto entries = [] { return timers::counter("kernel entries"); };
  DataSet data = DataSet::from_matrix(as_matrix(normal(n, d, 1)));
  Index columns = Index::sample(n, b, 1, 0);
  Matrix left = as_matrix(normal(data.local_n(), 3, 3)), right = as_matrix(normal(b, 2, 2));
  Matrix exact = kernel_block(data, columns, rbf(), {}, data)->times(right);
  double size = static_cast<double>(data.local_n() * b);
  for (Keep keep : {Keep::while_it_fits, Keep::exact, Keep::none}) {
    auto block = kernel_block(data, columns, rbf(), {}, data, {keep});
    double before = entries();
    Matrix zero = block->t_times(Matrix::zeros(data.local_n(), 3));
    BOOST_TEST(zero.shape() == fmt::format("{}x3", b));
    BOOST_TEST(all_zero(zero));
    BOOST_TEST(all_zero(block->times(Matrix::zeros(b, 2).t().t())));
    BOOST_TEST(entries() == before);
    BOOST_TEST(largest_difference(block->times(right), exact) == 0);
    BOOST_TEST(entries() == before + size);
    BOOST_TEST(block->kept() == (keep == Keep::exact));
    block->t_times(Matrix::zeros(data.local_n(), 3));  // not the first product any more
    block->times(right);
    BOOST_TEST(block->kept() == (keep != Keep::none));
    BOOST_CHECK_THROW(block->t_times(Matrix::zeros(data.local_n() + 1, 3)), Error);
  }
  Matrix nan = Matrix::zeros(data.local_n(), 1);
  if (data.local_n() > 0) {
    nan.set(0, 0, std::nan(""));
    BOOST_TEST(!all_finite(kernel_block(data, columns, rbf(), {}, data)->t_times(nan)));
  }
}

// Never kept, a block gives the same bits.
BOOST_AUTO_TEST_CASE(blocks_never_kept) {
  DataSet data = DataSet::from_matrix(as_matrix(normal(n, d, 1)));
  Index columns = Index::sample(n, b, 1, 0);
  auto kept = kernel_block(data, columns, rbf(), {}, data),
       passing = kernel_block(data, columns, rbf(), {}, data, {Keep::none});
  Matrix right = as_matrix(normal(b, 3, 2)), left = as_matrix(normal(data.local_n(), 3, 3));
  BOOST_TEST(largest_difference(passing->times(right), kept->times(right)) == 0);
  BOOST_TEST(largest_difference(passing->t_times(left), kept->t_times(left)) == 0);
  BOOST_TEST((kept->kept() && !passing->kept()));
}

// Kept in f16, a block is its entries rounded to 11 bits, in every product and from the first one.
BOOST_AUTO_TEST_CASE(blocks_in_f16) {
  Dense x = normal(n, d, 1, DType::f32);
  DataSet data = DataSet::from_matrix(as_matrix(x, DType::f32));
  Index columns = Index::sample(n, b, 1, 0);
  Dense exact = naive_rbf(gamma)(x, rows_of(x, columns)), w = normal(b, 4, 4, DType::f32);
  auto block = kernel_block(data, columns, rbf(), {}, data, {Keep::f16});
  Matrix first = block->times(as_matrix(w));
  Dense rounded = dense(block->dense());
  BOOST_TEST(block->bytes() == static_cast<std::size_t>(block->rows() * b * 2));
  BOOST_TEST(distance(block->dense(), share(exact)) <= 0x1p-12);
  BOOST_TEST(distance(rounded, share(exact)) > 0);
  BOOST_TEST(distance(rounded, rounded.unaryExpr([](double v) { return double(float(::Eigen::half(float(v)))); })) ==
             0);
  BOOST_TEST(relative_distance(first, rounded * w) <= 2e-6);
  BOOST_TEST(largest_difference(block->times(as_matrix(w)), first) == 0);
  for (Int columns : {4, 70}) {  // few and many
    Dense v = normal(n, columns, 5, DType::f32), u = normal(b, columns, 6, DType::f32);
    BOOST_TEST(relative_distance(block->times(as_matrix(u)), rounded * u) <= 2e-6);
    BOOST_TEST(relative_distance(block->t_times(as_matrix(share(v))), rounded.transpose() * share(v)) <= 2e-6);
  }
  BOOST_TEST(relative_distance(block->gram(DType::f64), rounded.transpose() * rounded) <= 1e-12);
  BOOST_TEST(distance(block->rows(Index({3, n - 1})), rows_of(exact, Index({3, n - 1}))) <= 0x1p-12);
  auto large = kernel_block(data, columns, kernel("polynomial", {{"degree", 9}, {"c", 9}}), {}, data, {Keep::f16});
  if (large->rows() > 0)
    BOOST_CHECK_EXCEPTION(large->dense(), Error,
                          [](const Error& e) { return std::string(e.what()).find("f16") != std::string::npos; });
  DataSet f64 = DataSet::from_matrix(as_matrix(x));
  BOOST_CHECK_THROW(kernel_block(f64, columns, rbf(), {}, f64, {Keep::f16}), Error);
}

BOOST_AUTO_TEST_CASE(kept_memory_is_freed_with_the_block) {
  std::size_t before = memory::in_use();
  {
    auto example = examples(DType::f64).front();
    example.block->dense();
    BOOST_TEST(memory::in_use() >= before + example.block->bytes());
  }
  BOOST_TEST(memory::in_use() == before);
}

// A kept block computes each entry once; a streamed one once a product.
BOOST_AUTO_TEST_CASE(entries_are_counted) {
  for (bool keep : {true, false}) {
    Budget budget(keep ? plenty : 1);
    std::size_t which = 0;
    for (auto& [what, block, all] : examples(DType::f32)) {
      const char* counter = which++ == 0 ? "kernel entries" : "feature entries";
      double before = timers::counter(counter), entries = static_cast<double>(block->rows() * block->cols());
      block->rows(Index({0, n - 1}));
      double of_rows = timers::counter(counter) - before;
      BOOST_TEST(comm::allreduce(of_rows, comm::Reduction::sum) == 2 * b, what);
      block->times(as_matrix(normal(b, 1, 1)));
      block->gram(DType::f64);
      block->dense();
      BOOST_TEST(timers::counter(counter) - before - of_rows == (keep ? 1 : 3) * entries, what);
    }
  }
}

// What a run computes must not depend on whether it had the factor of a block already: see
// scripts/kbcd/descent/systems.lua.
BOOST_AUTO_TEST_CASE(the_fused_product_has_the_bits_of_the_single_one) {
  Budget budget(4 * 400 * b * sizeof(double));  // memory for a block; slabs of no more than 400 rows
  for (DType type : both_types) {
    DataSet x = DataSet::from_matrix(as_matrix(normal(n, d, 1, type), type));
    Matrix a = as_matrix(normal(x.local_n(), 2, 2));
    auto block = [&] { return kernel_block(x, Index::range(0, b), rbf(), std::nullopt, x); };
    auto fused = block(), single = block();
    BOOST_TEST(distance(fused->normal(a, type).t_times, dense(single->t_times(a))) == 0);
    BOOST_TEST(distance(fused->t_times(a), dense(single->normal(a, type).t_times)) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
