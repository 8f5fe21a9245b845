// Kernel blocks of rows that are kept as bytes, against the kernels' formulas in f64 on the numbers that they stand
// for: by exact integers on every kind of tile that this CPU can run, and by the numbers where it has none.
#include "core/byte_tiles.hpp"
#include "modules/blocks/kernel_diagonal.hpp"
#include "modules/blocks/kernel_triangle.hpp"
#include "tests/support/block_examples.hpp"

namespace kbcd::tests {
namespace {

std::uint8_t byte(Int i, Int k) {
  if (i < 2) return 255;
  if (i == 2) return 0;
  if (i == 3) i = 4;  // equal rows
  auto mixed = static_cast<std::uint64_t>(i * 2654435761 + k * 40503 + i * k * 97);
  return static_cast<std::uint8_t>(mixed >> 7);
}

DataSet bytes_of(Int rows, Int cols, ByteCode code, DType type) {
  Layout layout = comm::layout(rows);
  ByteMatrix local(layout.count(comm::rank()), cols, code);
  for (Int i = 0; i < local.rows(); ++i)
    for (Int k = 0; k < cols; ++k) local.line(i)[k] = byte(layout.first(comm::rank()) + i, k);
  return {rows, local, type, "test"};
}

Dense numbers_of(Int rows, Int cols, ByteCode code) {
  Dense x(rows, cols);
  for (Int i = 0; i < rows; ++i)
    for (Int k = 0; k < cols; ++k) x(i, k) = code.scale * (byte(i, k) + code.shift);
  return x;
}

// One of each metric, with values of moderate size.
std::vector<std::shared_ptr<Kernel>> kernels_for(Int cols, ByteCode code) {
  double size = 100 * code.scale, width = static_cast<double>(cols) * size * size;
  return {kernel("linear", {}),
          kernel("cosine", {}),
          kernel("rbf", {{"gamma", 0.5 / width}}),
          kernel("matern", {{"sigma", std::sqrt(width)}}),
          kernel("polynomial", {{"gamma", 1 / width}, {"degree", Int{2}}}),
          kernel("laplacian", {{"sigma", static_cast<double>(cols) * size}})};
}

std::span<const double> span_of(const ::Eigen::RowVectorXd& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

double kappa(const Kernel& kernel, double metric) {
  Matrix one = as_matrix(Dense::Constant(1, 1, metric));
  kernel.kappa(one.view<double>());
  return one.get(0, 0);
}

// By exact integers, the metric is within 2 ulp, and the kernel within what that does to it and 2 ulp of its own (of 1,
// or of its value where that is larger). By numbers, sums are rounded as well.
double allowed(const Kernel& kernel, std::span<const double> x, std::span<const double> y, DType type, bool exact) {
  double ulp = type == DType::f32 ? 0x1p-23 : 0x1p-52, metric = metric_value(kernel.metric(), x, y), size = 1;
  for (auto side : {x, y})
    for (double value : side) size += value * value;
  double error = 2 * ulp * std::abs(metric);
  double steps = 32 + static_cast<double>(x.size()) / 4;
  if (!exact) error = steps * ulp * (kernel.metric() == Metric::cosine ? 1 : size);
  if (kernel.is_linear()) return error;
  double low = kernel.metric() == Metric::sqeuclidean || kernel.metric() == Metric::manhattan
                   ? std::max(0.0, metric - error)
                   : metric - error;
  double at = kappa(kernel, metric);
  double change = std::max(std::abs(kappa(kernel, low) - at), std::abs(kappa(kernel, metric + error) - at));
  return change + 2 * ulp * std::max(1.0, std::abs(at));
}

void check(const Matrix& got, const Kernel& kernel, const Dense& x, const Dense& c, DType type, bool exact) {
  double worst = 0;
  for (Int i = 0; i < x.rows(); ++i)
    for (Int j = 0; j < c.rows(); ++j) {
      ::Eigen::RowVectorXd row = x.row(i), centre = c.row(j);
      double error = std::abs(got.get(i, j) - kernel.value(span_of(row), span_of(centre)));
      worst = std::max(worst, error / allowed(kernel, span_of(row), span_of(centre), type, exact));
    }
  BOOST_TEST(worst <= 1, worst);
}

// f(exact) with every kind of tile, and with none.
template <class F>
void on_every_machine(F&& f) {
  auto names = tiles::byte_names();
  names.push_back("none");
  for (auto& name : names) {
    tiles::choose_bytes(name);
    BOOST_TEST_CONTEXT("tiles: " << name) {
      f(name != "none");
    }
  }
  tiles::choose_bytes(names.front());
}

constexpr ByteCode pixels{1.0 / 255, 0}, with_signs{0.5, -128};

}  // namespace

BOOST_AUTO_TEST_SUITE(byte_blocks)

BOOST_AUTO_TEST_CASE(entries_are_those_of_the_formula) {
  for (Int cols : {1, 3, 783, 784, 4097})
    for (ByteCode code : {pixels, with_signs})
      for (DType type : both_types) {
        if (type == DType::f64 && cols > 783) continue;
        constexpr Int rows = 13;
        Index columns({12, 0, 3, 4, 2, 7, 1});
        DataSet data = bytes_of(rows, cols, code, type);
        Dense x = numbers_of(rows, cols, code);
        for (auto& kernel : kernels_for(cols, code))
          on_every_machine([&](bool exact) {
            BOOST_TEST_CONTEXT(describe(*kernel) << ", d = " << cols << ", scale " << code.scale << " " << name(type)) {
              auto block = kernel_block(data, columns, kernel, {}, data);
              BOOST_TEST((block->dtype() == type));
              check(block->dense(), *kernel, share(x), rows_of(x, columns), type,
                    exact && kernel->metric() != Metric::manhattan);
              check(block->square(), *kernel, rows_of(x, columns), rows_of(x, columns), type,
                    exact && kernel->metric() != Metric::manhattan);
            }
          });
      }
}

// Integers beyond 32 bits: rows are taken in parts.
BOOST_AUTO_TEST_CASE(very_long_rows) {
  constexpr Int rows = 6, cols = 70001;
  for (ByteCode code : {pixels, with_signs}) {
    DataSet data = bytes_of(rows, cols, code, DType::f32);
    Dense x = numbers_of(rows, cols, code);
    Index all = Index::range(0, rows);
    for (auto& kernel : kernels_for(cols, code)) {
      if (kernel->metric() == Metric::manhattan) continue;
      on_every_machine([&](bool exact) {
        check(kernel_block(data, all, kernel, {}, data)->dense(), *kernel, share(x), x, DType::f32, exact);
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(products_of_many_rows) {
  constexpr Int rows = 1100, cols = 40;
  DataSet data = bytes_of(rows, cols, pixels, DType::f32);
  Dense x = numbers_of(rows, cols, pixels);
  auto kernel = rbf();
  for (Int count : {1, 37, 301}) {
    Index columns = Index::sample(rows, count, 1, 0), some = Index::sample(rows, 700, 2, 0);
    Dense all = naive_rbf(gamma)(x, rows_of(x, columns)), w = normal(count, 3, 4), a = normal(rows, 2, 5);
    on_every_machine([&](bool) {
      auto block = kernel_block(data, columns, kernel, {}, data);
      BOOST_TEST(relative_distance(block->times(as_matrix(w)), share(all) * w) <= 2e-6);
      BOOST_TEST(relative_distance(summed(block->t_times(as_matrix(share(a)))), all.transpose() * a) <= 2e-6);
      BOOST_TEST(distance(block->rows(some), rows_of(all, some)) <= 1e-6);
      auto chosen = kernel_block(data, columns, kernel, some, data);
      Dense mine = rows_of(rows_of(all, some), Index(data.layout().owned_positions(some, comm::rank())));
      BOOST_TEST(distance(chosen->dense(), mine) <= 1e-6);
    });
  }
}

BOOST_AUTO_TEST_CASE(whole_kernel_matrices) {
  constexpr Int rows = 203, cols = 33;
  DataSet data = bytes_of(rows, cols, pixels, DType::f32);
  Dense k = naive_rbf(gamma)(numbers_of(rows, cols, pixels), numbers_of(rows, cols, pixels)), v = normal(rows, 3, 6);
  on_every_machine([&](bool) {
    KernelTriangle triangle(data, rbf(), Index::permutation(rows, 3, 0), {.tile = 32, .group = 2});
    for (int time = 0; time < 2; ++time)
      BOOST_TEST(relative_distance(triangle.times(as_matrix(share(v))), share(k * v)) <= 2e-6);
    BOOST_TEST(distance(kernel_diagonal(data, kernel("linear", {})),
                        share(numbers_of(rows, cols, pixels).rowwise().squaredNorm())) <= 1e-4);
  });
}

// Bytes with another scale or shift, and numbers, on either side.
BOOST_AUTO_TEST_CASE(bytes_against_other_data) {
  constexpr Int rows = 50, cols = 20;
  DataSet data = bytes_of(rows, cols, pixels, DType::f32), twice = bytes_of(9, cols, {2.0 / 255, 0}, DType::f32);
  DataSet shifted = bytes_of(9, cols, {1.0 / 255, -128}, DType::f64), real = twice.to_real();
  BOOST_TEST(!real.is_bytes());
  Dense x = numbers_of(rows, cols, pixels), c = numbers_of(9, cols, {2.0 / 255, 0});
  Dense moved = numbers_of(9, cols, {1.0 / 255, -128});
  Index all = Index::range(0, 9);
  on_every_machine([&](bool) {
    BOOST_TEST(distance(kernel_block(data, all, rbf(), {}, twice)->dense(), share(naive_rbf(gamma)(x, c))) <= 5e-6);
    BOOST_TEST(distance(kernel_block(data, all, rbf(), {}, real)->dense(), share(naive_rbf(gamma)(x, c))) <= 5e-6);
    BOOST_TEST(distance(kernel_block(data, all, rbf(), {}, shifted)->dense(), share(naive_rbf(gamma)(x, moved))) <=
               5e-6);
    BOOST_TEST(distance(kernel_block(real, all, rbf(), {}, data)->dense(), share(naive_rbf(gamma)(c, x.topRows(9)))) <=
               5e-6);
  });
}

BOOST_AUTO_TEST_CASE(features_of_bytes) {
  constexpr Int rows = 400, cols = 21;
  DataSet data = bytes_of(rows, cols, pixels, DType::f32);
  Index features = Index::range(0, 8);
  BOOST_TEST(distance(random_features_block(data, features, fourier(20, 1), {})->dense(),
                      share(naive_features(numbers_of(rows, cols, pixels), features, 20, 1))) <= 2e-5);
}

BOOST_AUTO_TEST_CASE(data_sets_of_bytes) {
  constexpr Int rows = 5003, cols = 19;
  for (ByteCode code : {pixels, with_signs})
    for (DType type : both_types) {
      DataSet data = bytes_of(rows, cols, code, type), real = data.to_real();
      Dense x = numbers_of(rows, cols, code);
      if (type == DType::f32) x = x.cast<float>().cast<double>();
      BOOST_TEST((data.is_bytes() && data.dtype() == type && data.d() == cols && data.n() == rows));
      BOOST_TEST(distance(data.local(), share(x)) == 0);
      BOOST_TEST((!real.is_bytes() && real.dtype() == type));
      BOOST_TEST(distance(real.local(), share(x)) == 0);
      BOOST_TEST(data.fingerprint() == real.fingerprint());
      Index some({5002, 0, 17, 17, 3000});
      BOOST_TEST(distance(data.gather(some), rows_of(x, some)) == 0);
      Index many = Index::permutation(rows, 1, 0);
      DataSet subset = data.subset(many);
      BOOST_TEST(subset.is_bytes());
      BOOST_TEST(distance(subset.local(), share(rows_of(x, many))) == 0);
      BOOST_TEST(distance(data.to_sparse().to_dense().local(), share(x)) == 0);
      DataSet again = real.to_bytes(code);
      BOOST_TEST(again.is_bytes());
      BOOST_TEST(distance(again.local(), share(x)) == 0);
      BOOST_TEST(distance(data.to(DType::f64).local(), share(numbers_of(rows, cols, code))) == 0);
    }
  DataSet half = DataSet::own(as_matrix(Dense::Constant(1, 2, 0.5)));
  BOOST_CHECK_EXCEPTION(half.to_bytes({1, 0}), Error, mentions("no byte stands for it"));
  BOOST_CHECK_EXCEPTION(half.to_bytes({1, 7}), Error, mentions("shift of 0 or -128"));
  BOOST_CHECK_EXCEPTION(half.to_bytes({0, 0}), Error, mentions("scale > 0"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
