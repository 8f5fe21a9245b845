#include "modules/features/feature_map.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

#include "core/elementwise.hpp"
#include "core/random.hpp"
#include "core/tiles.hpp"
#include "core/turns.hpp"

namespace kbcd {
namespace {

std::vector<FeatureMapFormat>& formats() {
  static std::vector<FeatureMapFormat> formats;
  return formats;
}

// scale · cos(2π (omega·x + phase)): frequencies and phases are in turns.
class CosineBlock : public FeatureBlock {
 public:
  CosineBlock(Matrix omega, Matrix phase, double scale) : omega_(omega), phase_(phase), scale_(scale) {
    dispatch(omega.dtype(), [&]<class T>() { packed_ = tiles::Columns<T>(omega.view<T>().t()); });
  }
  void apply(View<float> x, View<float> z) const override { cosines(x, z); }
  void apply(View<double> x, View<double> z) const override { cosines(x, z); }

  // A sparse row times omega' is a sum of columns of omega, so those must lie in one piece.
  void prepare_sparse() override {
    std::size_t bytes = omega_.size() * bytes_of(omega_.dtype());
    require(bytes <= memory::budget(),
            "RandomFeaturesBlock: {} features of {} columns take {} MB; lower b or raise --memory", omega_.rows(),
            omega_.cols(), bytes >> 20);
    Int whole = (omega_.rows() + features_at_once - 1) / features_at_once * features_at_once;
    Matrix columns = Matrix::zeros(omega_.cols(), whole + features_at_once / 2, omega_.dtype());  // not a power of two
    columns.col_block(0, omega_.rows()).copy_from(omega_.t());
    omega_ = columns;
    packed_ = {};
  }
  void apply(const Csr& x, std::span<const Int> rows, View<float> z) const override { sparse_cosines(x, rows, z); }
  void apply(const Csr& x, std::span<const Int> rows, View<double> z) const override { sparse_cosines(x, rows, z); }

 private:
  template <class T>
  using Line = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;

  template <class T>
  void cosines(View<T> x, View<T> z) const {
    thread_local tiles::Rows<T> rows;
    rows.pack(x);
    for (Int first = 0; first < z.cols; first += columns_in_cache) {
      View<T> columns = z.cols_from(first, std::min(columns_in_cache, z.cols - first));
      tiles::multiply(rows, std::get<tiles::Columns<T>>(packed_), first, columns);
      shift_and_cos(columns, first);
    }
  }

  template <class T>
  void sparse_cosines(const Csr& x, std::span<const Int> rows, View<T> z) const {
    auto omega = omega_.view<T>();
    const T* values = x.values.view<T>().data;
    // Some features at a time: their part of the common columns of x stays in cache from row to row.
    using Sums = Eigen::Array<T, 1, features_at_once>;
    for (Int first = 0; first < z.cols; first += features_at_once) {
      View<T> columns = z.cols_from(first, std::min(features_at_once, z.cols - first));
      for (Int i = 0; i < z.rows; ++i) {
        Sums sums = Sums::Zero();
        for (Int e = x.starts[rows[i]]; e < x.starts[rows[i] + 1]; ++e)
          sums += values[e] * Eigen::Map<const Sums>(omega.line(x.columns[e]) + first);
        std::copy_n(sums.data(), columns.cols, columns.line(i));
      }
      shift_and_cos(columns, first);
    }
  }

  template <class T>
  void shift_and_cos(View<T> z, Int first) const {
    const T* phase = phase_.view<T>().data + first;
    for (Int i = 0; i < z.rows; ++i) {
      T *line = z.line(i), scale = T(scale_);
      for (Int j = 0; j < z.cols; ++j) line[j] = scale * cos_of_turns(line[j] + phase[j]);
    }
  }

  static constexpr Int features_at_once = 64;   // of a sparse row
  static constexpr Int columns_in_cache = 240;  // of a panel, between the product and the cosine; whole strips
  Matrix omega_;                                // a row a feature; transposed for sparse rows
  std::variant<tiles::Columns<float>, tiles::Columns<double>> packed_;  // omega, for products with dense rows
  Matrix phase_;
  double scale_;
};

}  // namespace

void FeatureBlock::prepare_sparse() {
  fail("RandomFeaturesBlock: this map takes dense rows and X is sparse; X:to_dense() makes them dense");
}

void FeatureBlock::apply(const Csr&, std::span<const Int>, View<float>) const {}
void FeatureBlock::apply(const Csr&, std::span<const Int>, View<double>) const {}

std::string describe(const FeatureMap& map) {
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (auto kernel = map.kernel()) add("kernel=" + describe(*kernel));
  add(fmt::format("p={}", map.p()));
  if (auto seed = map.seed()) add(fmt::format("seed={}", *seed));
  if (Values own = map.params(); !own.empty()) add(text_of(own));
  return fmt::format("{}{{{}}}", map.name(), text);
}

CosineMap::CosineMap(MapSettings settings) : settings_(std::move(settings)) {
  require(p() >= 1, "features: p >= 1 expected, got {}", p());
  double probe[2];
  settings_.kernel->frequency(settings_.seed, 0, probe);  // a kernel without a spectral measure says so now
}

std::shared_ptr<FeatureBlock> CosineMap::block(const Index& features, Int d, DType dtype) const {
  Matrix omega(features.size(), d, DType::f64), phase(1, features.size(), DType::f64);
  frequencies(features, omega.view<double>());
  Random random(settings_.seed, Stream::phase);
  auto v = phase.view<double>();
  for (Int i = 0; i < features.size(); ++i) v(0, i) = random.uniform(features[i], 0);
  scale(omega, 0.5 / std::numbers::pi);
  return std::make_shared<CosineBlock>(omega.contiguous(dtype), phase.contiguous(dtype), std::sqrt(2.0 / settings_.p));
}

const std::vector<FeatureMapFormat>& feature_map_formats() {
  return formats();
}

void register_feature_map(FeatureMapFormat format) {
  auto& all = formats();
  all.push_back(std::move(format));
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; });
}

}  // namespace kbcd
