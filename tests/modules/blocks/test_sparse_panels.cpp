// Blocks of sparse text: columns from frequent to rare, more centres than a strip has, rows that nearly equal many
// others and very long ones, against the kernel's own value of one pair in f64; features against those of the dense
// rows.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "core/random.hpp"
#include "modules/blocks/block.hpp"
#include "tests/support/declared.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

// Row i has column j with probability min(1, common / j), and a number in it.
Dense text(Int n, Int d, double common) {
  Random there(1, Stream::uniform), number(2, Stream::uniform);
  Dense x = Dense::Zero(n, d);
  for (Int i = 0; i < n; ++i)
    for (Int j = 0; j < d; ++j)
      if (there.uniform(i, j) * static_cast<double>(j + 1) < common) x(i, j) = 2 * number.uniform(i, j) - 0.7;
  return x;
}

Dense rounded(const Dense& x, DType type) {
  return type == DType::f32 ? Dense(x.cast<float>().cast<double>()) : x;
}

double value(const Kernel& kernel, const Dense& x, Int i, Int j) {
  std::vector<double> a(x.cols()), b(x.cols());
  for (Int c = 0; c < x.cols(); ++c) a[c] = x(i, c), b[c] = x(j, c);
  return kernel.value(a, b);
}

DataSet sparse(const Dense& x, DType type) {
  return DataSet(x.rows(), Csr::from_dense(as_matrix(share(x), type)), "X");
}

// K of every row and every centre (a row, too), of every kernel.
void check_kernels(const Dense& given, const char* what) {
  for (DType type : {DType::f32, DType::f64}) {
    Dense x = rounded(given, type);
    DataSet data = sparse(x, type);
    Index all = Index::range(0, data.n());
    for (auto& format : kernel_formats()) {
      auto kernel = format.make(good_values(format.params).back());
      Dense got = dense(kernel_block(data, all, kernel, {}, data)->rows(all));
      double worst = 0, limit = type == DType::f32 ? 1e-5 : 1e-10;
      for (Int i = 0; i < x.rows(); i += 3)
        for (Int j = 0; j < x.rows(); ++j) {
          double size = std::sqrt(std::abs(value(*kernel, x, i, i) * value(*kernel, x, j, j)));
          worst = std::max(worst, std::abs(got(i, j) - value(*kernel, x, i, j)) / std::max(size, 1e-300));
        }
      BOOST_TEST(worst <= limit, what << ", " << describe(*kernel) << " in " << name(type) << ": " << worst);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sparse_panels)

BOOST_AUTO_TEST_CASE(frequent_and_rare_columns) {
  check_kernels(text(150, 400, 8), "text");
}

BOOST_AUTO_TEST_CASE(rows_that_nearly_equal_many_others) {
  Dense x = text(140, 60, 8), one = x.row(0);
  for (Int i = 0; i < 60; ++i) x.row(2 * i) = one * (1 + 1e-4 * static_cast<double>(i));
  check_kernels(x, "near rows");
}

BOOST_AUTO_TEST_CASE(very_long_rows) {
  check_kernels(text(9, 4600, 1e4), "long rows");
}

BOOST_AUTO_TEST_CASE(features_of_sparse_rows_are_those_of_dense_ones) {
  Dense x = text(50, 300, 8);
  auto rbf = [] {
    for (auto& format : kernel_formats())
      if (format.name == "rbf") return format.make({{"sigma", 2.0}});
    throw Error("no rbf");
  }();
  for (auto& format : feature_map_formats())
    for (DType type : {DType::f32, DType::f64}) {
      auto map = format.make(rbf, 700, 3);
      DataSet data = sparse(rounded(x, type), type);
      Index features = Index::range(1, 331), all = Index::range(0, data.n());  // ragged strips, some features at a time
      Dense got = dense(random_features_block(data, features, map, {})->rows(all));
      Dense expected =
          dense(random_features_block(DataSet::from_matrix(as_matrix(rounded(x, type), DType::f64)), features, map, {})
                    ->rows(all));
      BOOST_TEST((got - expected).cwiseAbs().maxCoeff() <= (type == DType::f32 ? 1e-6 : 1e-13),
                 format.name << " in " << name(type));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
