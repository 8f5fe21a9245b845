// Every registered kernel keeps its digits: dense and sparse, in f32 and f64, for data far from 0, for rows that are
// equal or nearly so, and for widths that are tiny beside the data. The reference is the textbook formula of the kernel
// on the numbers as they are stored, in long double, written here once more.
#include <boost/test/unit_test.hpp>
#include <numbers>

#include "modules/blocks/block.hpp"
#include "modules/blocks/kernel_diagonal.hpp"
#include "tests/support/declared.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

double allowed(DType type) {
  return type == DType::f32 ? 1e-5 : 1e-10;
}

Dense stored(const Dense& x, DType type) {
  return type == DType::f32 ? Dense(x.cast<float>().cast<double>()) : x;
}

// Rows of which two are equal and two differ in a few entries by little; with zeros in them.
Dense scattered(Int d, double offset) {
  Dense x = 0.5 * normal(18, d, 1);
  for (Int i = 0; i < x.rows(); ++i)
    for (Int j = 0; j < d; ++j)
      if ((3 * i + 7 * j) % 4 == 0) x(i, j) = 0;
  x.array() += offset;
  x.row(9) = x.row(5);
  x.row(9).head(3).array() += std::max(1e-3, 1e-6 * offset);
  x.row(3) = x.row(17);
  return x;
}

// What large numbers can be in the data: in all columns, in one, in some rows, or in none but the distances are small
// beside the rows' lengths.
std::vector<std::pair<std::string, Dense>> data_sets(double offset) {
  std::vector<std::pair<std::string, Dense>> all = {{"all columns", scattered(23, offset)}};
  Dense column = scattered(23, 0), rows = scattered(23, 0);
  column.col(4).array() += offset;
  for (Int i = 0; i < rows.rows(); i += 3) rows.row(i).array() += offset;
  Dense clusters = 0.05 * normal(18, 200, 2);
  for (Int i = 0; i < 18; ++i) clusters.row(i) += normal(3, 200, 3).row(i % 3) * (1 + offset);
  all.emplace_back("one column", column);
  all.emplace_back("some rows", rows);
  all.emplace_back("clusters", clusters);
  return all;
}

// The parameters that the declaration suggests, and widths from tiny to huge.
std::vector<Values> settings(const KernelFormat& format) {
  auto all = good_values(format.params);
  if (!format.width) return all;
  for (double width : {1e-3, 0.05, 30.0, 1e6}) {
    all.push_back(all.front());
    all.back().insert_or_assign(*format.width, width);
  }
  return all;
}

using Long = long double;
using Row = std::vector<Long>;

Long sum_over(const Row& x, const Row& y, auto term) {
  Long sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += term(x[i], y[i]);
  return sum;
}

Long dot(const Row& x, const Row& y) {
  return sum_over(x, y, [](Long a, Long b) { return a * b; });
}

Long squared_distance(const Row& x, const Row& y) {
  return sum_over(x, y, [](Long a, Long b) { return (a - b) * (a - b); });
}

Long number(const Values& values, const char* name, Long otherwise) {
  auto found = values.find(name);
  return found == values.end() ? otherwise : Long(std::get<double>(found->second));
}

// The textbook formula of each shipped kernel, from the values as they were given; nullptr for others.
using Formula = Long (*)(const Values&, const Row&, const Row&);

Formula textbook(const std::string& kernel) {
  static const std::map<std::string, Formula> all = {
      {"linear", [](const Values&, const Row& x, const Row& y) { return dot(x, y); }},
      {"polynomial",
       [](const Values& v, const Row& x, const Row& y) {
         return std::pow(number(v, "gamma", 1) * dot(x, y) + number(v, "c", 1), number(v, "degree", 3));
       }},
      {"cosine",
       [](const Values&, const Row& x, const Row& y) {
         Long size = std::sqrt(dot(x, x)) * std::sqrt(dot(y, y));
         return size > 0 ? dot(x, y) / size : Long(0);
       }},
      {"rbf",
       [](const Values& v, const Row& x, const Row& y) {
         Long sigma = number(v, "sigma", 1), gamma = number(v, "gamma", 1 / (2 * sigma * sigma));
         return std::exp(-gamma * squared_distance(x, y));
       }},
      {"laplacian",
       [](const Values& v, const Row& x, const Row& y) {
         Long gamma = number(v, "gamma", 1 / number(v, "sigma", 1));
         return std::exp(-gamma * sum_over(x, y, [](Long a, Long b) { return std::abs(a - b); }));
       }},
      {"matern",
       [](const Values& v, const Row& x, const Row& y) {
         Long nu = number(v, "nu", 1.5L), r = std::sqrt(squared_distance(x, y)) / number(v, "sigma", 1);
         if (nu == 0.5L) return std::exp(-r);
         Long t = std::sqrt(2 * nu) * r;
         return (1 + t + (nu == 2.5L ? t * t / 3 : 0)) * std::exp(-t);
       }},
  };
  auto found = all.find(kernel);
  return found == all.end() ? nullptr : found->second;
}

// K of rows x: by the formula, or for a kernel that a test added, by its own value of one pair.
Dense reference(const KernelFormat& format, const Values& values, const Dense& x) {
  Formula formula = textbook(format.name);
  auto kernel = format.make(values);
  Dense k(x.rows(), x.rows());
  std::vector<Row> rows;
  std::vector<std::vector<double>> numbers;
  for (Int i = 0; i < x.rows(); ++i) {
    numbers.emplace_back(x.cols());
    for (Int j = 0; j < x.cols(); ++j) numbers[i][j] = x(i, j);
    rows.emplace_back(numbers[i].begin(), numbers[i].end());
  }
  for (Int i = 0; i < x.rows(); ++i)
    for (Int j = 0; j < x.rows(); ++j)
      k(i, j) =
          formula ? static_cast<double>(formula(values, rows[i], rows[j])) : kernel->value(numbers[i], numbers[j]);
  return k;
}

// The largest difference of two entries, in units of √(K(x, x) K(y, y)).
double error(const Dense& got, const Dense& k) {
  if (got.rows() != k.rows() || got.cols() != k.cols()) return INFINITY;
  double worst = 0;
  for (Int i = 0; i < k.rows(); ++i)
    for (Int j = 0; j < k.cols(); ++j) {
      double size = std::sqrt(std::abs(k(i, i))) * std::sqrt(std::abs(k(j, j))),
             difference = std::abs(got(i, j) - k(i, j));
      if (difference > 0 || std::isnan(difference))
        worst = std::isnan(difference) ? INFINITY : std::max(worst, difference / size);
    }
  return worst;
}

DataSet data_set(const Dense& x, DType type, bool sparse) {
  if (!sparse) return DataSet::from_matrix(as_matrix(x, type));
  return DataSet(x.rows(), Csr::from_dense(as_matrix(share(x), type)), "X");
}

// Each form in which a block gives K, against the reference k.
void check(const DataSet& data, std::shared_ptr<Kernel> kernel, const Dense& k, bool products,
           const std::string& what) {
  Index all = Index::range(0, data.n());
  double limit = allowed(data.dtype());
  auto block = [&] { return kernel_block(data, all, kernel, {}, data); };
  auto good = [&](const char* form, double error) {
    BOOST_TEST(error <= limit, what << ", " << form << ": " << error);
  };
  good("rows", error(dense(block()->rows(all)), k));
  good("square", error(dense(block()->square()), k));
  if (!products) return;
  // Products and Grams are sums over entries that may be large: of K with rows and columns of size 1.
  Dense size = k.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse();
  Dense scaled = size.asDiagonal() * k * size.asDiagonal();
  if (!scaled.allFinite()) return;
  Matrix scale = as_matrix(size), own = as_matrix(share(size));
  auto unit = [&] { return kernel_block(data, all, kernel, {}, data, {Keep::while_it_fits, own, scale}); };
  Dense a = normal(k.rows(), 2, 5);
  double n = static_cast<double>(k.rows());
  good("times", distance(unit()->times(as_matrix(a)), share(scaled * a)) / n);
  good("t_times", distance(summed(unit()->t_times(as_matrix(share(a)))), scaled.transpose() * a) / n);
  auto both = unit()->both(as_matrix(a), as_matrix(share(a)));
  good("both", std::max(distance(both.times, share(scaled * a)), distance(summed(both.t_times), scaled * a)) / n);
  good("gram", distance(summed(unit()->gram(DType::f64)), scaled.transpose() * scaled) / n);
  good("dense", distance(unit()->dense(), share(scaled)));
  Dense diagonal = dense(kernel_diagonal(data, kernel)), expected = share(k.diagonal());
  good("diagonal",
       diagonal.size() ? ((diagonal - expected).array() / expected.array().abs().max(1e-300)).abs().maxCoeff() : 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(precision)

BOOST_AUTO_TEST_CASE(every_shipped_kernel_has_a_formula_here) {
  int found = 0;
  for (auto& format : kernel_formats()) found += textbook(format.name) != nullptr;
  BOOST_TEST(found == 6);
}

BOOST_AUTO_TEST_CASE(no_offset_width_or_equal_row_costs_a_kernel_its_digits) {
  for (auto& format : kernel_formats())
    for (auto& values : settings(format))
      for (DType type : both_types)
        for (double offset : {0.0, 1e3, 1e6})
          for (auto& [where, rows] : data_sets(offset)) {
            auto kernel = format.make(values);
            Dense x = stored(rows, type), k = reference(format, values, x);
            if (type == DType::f32 && k.cwiseAbs().maxCoeff() > 1e37) continue;  // beyond f32
            for (bool sparse : {false, true})
              check(data_set(x, type, sparse), kernel, k, offset == 1e6,
                    fmt::format("{} {} in {}, {} in {}", sparse ? "sparse" : "dense", describe(*kernel), name(type),
                                offset, where));
          }
}

// Rows whose squares are below or beyond all numbers have an angle.
BOOST_AUTO_TEST_CASE(cosine_of_rows_of_any_size) {
  for (DType type : both_types)
    for (double size :
         type == DType::f32 ? std::vector{1e-44, 1e-40, 1e-25, 1e30} : std::vector{1e-322, 1e-310, 1e-200, 1e300}) {
      Dense x = stored(size * normal(9, 6, 4), type);
      x.row(2).setZero();
      for (auto& format : kernel_formats())
        if (format.metric == Metric::cosine)
          for (bool sparse : {false, true}) {
            auto kernel = format.make({});
            auto data = data_set(x, type, sparse);
            Index all = Index::range(0, x.rows());
            double worst = distance(kernel_block(data, all, kernel, {}, data)->rows(all), reference(format, {}, x));
            BOOST_TEST(worst <= allowed(type), size << " in " << name(type) << (sparse ? ", sparse: " : ": ") << worst);
          }
    }
}

// Widths at the ends of what is accepted give numbers.
BOOST_AUTO_TEST_CASE(the_narrowest_and_widest_kernels_are_finite) {
  for (auto& format : kernel_formats()) {
    if (!format.width) continue;
    for (double width : {1e-320, 1e-300, 1e-40, 1e-30, 1e-15, 1.1e-15, 1e15, 1e30, 1e300}) {
      std::shared_ptr<Kernel> kernel;
      Values values = good_values(format.params).front();
      try {
        values.insert_or_assign(*format.width, width);
        kernel = format.make(values);
      } catch (const Error&) {
        continue;
      }
      for (DType type : both_types) {
        Dense x = stored(1e6 * normal(5, 3, 6), type);
        x.row(1) = x.row(4);
        for (bool sparse : {false, true}) {
          auto data = data_set(x, type, sparse);
          Index all = Index::range(0, x.rows());
          Dense k = dense(kernel_block(data, all, kernel, {}, data)->rows(all));
          BOOST_TEST(error(k, reference(format, values, x)) <= allowed(type), describe(*kernel)
                                                                                  << " in " << name(type));
        }
      }
    }
  }
}

// √(2/p) cos(ω·x + b) of rows that are long beside the width, from the generator's numbers in f64.
BOOST_AUTO_TEST_CASE(features_of_rows_far_from_0) {
  constexpr Int p = 40, d = 23;
  for (auto& format : kernel_formats()) {
    if (!format.has_frequencies) continue;
    auto kernel = format.make(good_values(format.params).front());
    for (auto& map_format : feature_map_formats()) {
      if (map_format.name != "fourier") continue;
      auto map = map_format.make(kernel, p, 7);
      for (DType type : both_types)
        for (double offset : {0.0, 1e3, 1e6}) {
          Dense x = stored(scattered(d, offset), type);
          Dense angle(x.rows(), p);
          for (Int j = 0; j < p; ++j) {
            std::vector<double> omega(d);
            kernel->frequency(7, j, omega);
            for (Int i = 0; i < x.rows(); ++i) {
              long double sum = 2 * std::numbers::pi_v<long double> * Random(7, Stream::phase).uniform(j, 0);
              for (Int k = 0; k < d; ++k) sum += static_cast<long double>(omega[k]) * x(i, k);
              angle(i, j) = static_cast<double>(std::cos(sum));
            }
          }
          for (bool sparse : {false, true}) {
            auto data = data_set(x, type, sparse);
            auto block = random_features_block(data, Index::range(0, p), map, {});
            Dense z = dense(block->dense()) * std::sqrt(p / 2.0), wrong = (z - share(angle)).cwiseAbs();
            std::vector<double> errors(wrong.data(), wrong.data() + wrong.size());
            std::sort(errors.begin(), errors.end());  // a few frequencies of a Cauchy measure are as large as they like
            double most = errors.empty() ? 0 : errors[errors.size() * 9 / 10];
            BOOST_TEST(most <= (type == DType::f32 ? 1e-4 : 1e-7),
                       describe(*map) << " of " << name(type) << (sparse ? " sparse" : "") << " rows near " << offset
                                      << ": " << most);
          }
        }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
