#include "modules/features/feature_map.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>

#include "core/elementwise.hpp"
#include "core/random.hpp"
#include "core/tiles.hpp"
#include "modules/features/long_rows.hpp"
#include "modules/features/sparse_cosines.hpp"

namespace kbcd {
namespace {

std::vector<FeatureMapFormat>& formats() {
  static std::vector<FeatureMapFormat> formats;
  return formats;
}

// scale · cos(2π (omega·x + phase)): frequencies and phases are in turns.
//
// Angles of long rows are computed in f64, for the panels that have such a row.
class CosineBlock : public FeatureBlock {
 public:
  CosineBlock(Matrix omega, Phases phases, DType dtype) : omega_(omega), phases_(std::move(phases)) {
    if (dtype == DType::f32) packed32_ = tiles::Columns<float>(omega.to(DType::f32).view<float>().t());
    if (dtype == DType::f64) packed64_ = tiles::Columns<double>(omega.view<double>().t());
    std::vector<double> squares(omega.rows());
    auto w = omega.view<double>();
    for (Int i = 0; i < w.rows; ++i) squares[i] = Line<double>(w.line(i), w.cols).square().mean();
    std::nth_element(squares.begin(), squares.begin() + squares.size() / 2, squares.end());
    if (!squares.empty()) typical_ = std::sqrt(squares[squares.size() / 2]);
  }
  void apply(View<float> x, View<float> z) const override {
    if (!loses_digits(typical_, longest_row(x))) return cosines(x, z);
    std::call_once(packed64_once_, [&] { packed64_ = tiles::Columns<double>(omega_.view<double>().t()); });
    in_f64(x, z, [&](View<double> wide, View<double> out) { cosines(wide, out); });
  }
  void apply(View<double> x, View<double> z) const override { cosines(x, z); }

 private:
  template <class T>
  using Line = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;

  template <class T>
  const tiles::Columns<T>& packed() const {
    if constexpr (std::is_same_v<T, float>)
      return packed32_;
    else
      return packed64_;
  }

  template <class T>
  void cosines(View<T> x, View<T> z) const {
    thread_local tiles::Rows<T> rows;
    rows.pack(x);
    for (Int first = 0; first < z.cols; first += columns_in_cache) {
      View<T> columns = z.cols_from(first, std::min(columns_in_cache, z.cols - first));
      tiles::multiply(rows, packed<T>(), first, columns);
      for (Int i = 0; i < columns.rows; ++i) phases_.cosines(columns.line(i), first, columns.cols, columns.line(i));
    }
  }

  static constexpr Int columns_in_cache = 240;  // of a panel, between the product and the cosine; whole strips
  Matrix omega_;                                // f64, a row a feature
  tiles::Columns<float> packed32_;              // omega, for products with rows
  mutable tiles::Columns<double> packed64_;
  mutable std::once_flag packed64_once_;
  Phases phases_;
  double typical_ = 0;  // the size of a coordinate of a frequency, of half of the features
};

}  // namespace

std::shared_ptr<FeatureBlock> FeatureMap::sparse_block(const Index&, Int, DType, double) const {
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
  Matrix omega(features.size(), d, DType::f64);
  frequencies(features, omega.view<double>());
  scale(omega, 0.5 / std::numbers::pi);
  return std::make_shared<CosineBlock>(omega, phases(features), dtype);
}

std::shared_ptr<FeatureBlock> CosineMap::sparse_block(const Index& features, Int d, DType dtype,
                                                      double longest_row) const {
  SparseFrequencies some{features.size(), d, made_at_once(features.size()), [&](Int first, View<double> omega) {
                           auto begin = features.begin() + first;
                           frequencies(Index(std::vector<Int>(begin, begin + omega.rows)), omega);
                         }};
  return std::make_shared<SparseCosines>(some, phases(features), dtype, longest_row);
}

Phases CosineMap::phases(const Index& features) const {
  Matrix all(1, features.size(), DType::f64);
  for (Int i = 0; i < features.size(); ++i) all.view<double>()(0, i) = phase(features[i]);
  return {all, std::sqrt(2.0 / p())};
}

double CosineMap::phase(Int feature) const {
  return Random(settings_.seed, Stream::phase).uniform(feature, 0);
}

double CosineMap::paired_phase(Int feature) const {
  return Random(settings_.seed, Stream::phase).uniform(feature / 2, 0) - (feature % 2 ? 0.25 : 0);
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
