#include "modules/features/feature_map.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>

#include "core/elementwise.hpp"
#include "core/random.hpp"
#include "core/tiles.hpp"
#include "core/turns.hpp"
#include "modules/features/long_rows.hpp"

namespace kbcd {
namespace {

std::vector<FeatureMapFormat>& formats() {
  static std::vector<FeatureMapFormat> formats;
  return formats;
}

// scale · cos(2π (omega·x + phase)): frequencies and phases are in turns.
//
// Angles of long rows are computed in f64: for the panels of dense rows that have such a row, or for all sparse rows.
class CosineBlock : public FeatureBlock {
 public:
  CosineBlock(Matrix omega, Matrix phase, double scale, DType dtype)
      : omega_(omega), phase_(phase), phase32_(phase.to(DType::f32)), dtype_(dtype), scale_(scale) {
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

  // A sparse row times omega' is a sum of columns of omega, so those must lie in one piece.
  void prepare_sparse(double longest_row) override {
    DType dtype = dtype_ == DType::f32 && loses_digits(typical_, longest_row) ? DType::f64 : dtype_;
    std::size_t bytes = omega_.size() * bytes_of(dtype);
    require(bytes <= memory::budget(),
            "RandomFeaturesBlock: {} features of {} columns take {} MB; lower b or raise --memory", omega_.rows(),
            omega_.cols(), bytes >> 20);
    Int whole = (omega_.rows() + features_at_once - 1) / features_at_once * features_at_once;
    Matrix columns = Matrix::zeros(omega_.cols(), whole + features_at_once / 2, dtype);  // not a power of two
    columns.col_block(0, omega_.rows()).copy_from(omega_.t());
    omega_ = columns;
    packed32_ = {}, packed64_ = {};
  }
  void apply(const Csr& x, std::span<const Int> rows, View<float> z) const override {
    dispatch(omega_.dtype(), [&]<class Sum>() { sparse_cosines<float, Sum>(x, rows, z); });
  }
  void apply(const Csr& x, std::span<const Int> rows, View<double> z) const override {
    sparse_cosines<double, double>(x, rows, z);
  }

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
      for (Int i = 0; i < columns.rows; ++i) shift_and_cos(columns.line(i), first, columns.cols, columns.line(i));
    }
  }

  template <class T, class Sum>
  void sparse_cosines(const Csr& x, std::span<const Int> rows, View<T> z) const {
    auto omega = omega_.view<Sum>();
    const T* values = x.values.view<T>().data;
    // Some features at a time: their part of the common columns of x stays in cache from row to row.
    using Sums = Eigen::Array<Sum, 1, features_at_once>;
    for (Int first = 0; first < z.cols; first += features_at_once)
      for (Int i = 0; i < z.rows; ++i) {
        Sums sums = Sums::Zero();
        for (Int e = x.starts[rows[i]]; e < x.starts[rows[i] + 1]; ++e)
          sums += Sum(values[e]) * Eigen::Map<const Sums>(omega.line(x.columns[e]) + first);
        shift_and_cos(sums.data(), first, std::min(features_at_once, z.cols - first), z.line(i) + first);
      }
  }

  template <class Angle, class T>
  void shift_and_cos(const Angle* angles, Int first, Int count, T* line) const {
    const Matrix& phases = std::is_same_v<Angle, float> ? phase32_ : phase_;
    const Angle* phase = phases.view<Angle>().data + first;
    Angle scale = Angle(scale_);
    for (Int j = 0; j < count; ++j) line[j] = static_cast<T>(scale * cos_of_turns(angles[j] + phase[j]));
  }

  static constexpr Int features_at_once = 64;   // of a sparse row
  static constexpr Int columns_in_cache = 240;  // of a panel, between the product and the cosine; whole strips
  Matrix omega_;                                // f64, a row a feature; transposed for sparse rows
  tiles::Columns<float> packed32_;              // omega, for products with dense rows
  mutable tiles::Columns<double> packed64_;
  mutable std::once_flag packed64_once_;
  Matrix phase_, phase32_;
  DType dtype_;
  double scale_, typical_ = 0;  // typical_: the size of a coordinate of a frequency, of half of the features
};

}  // namespace

void FeatureBlock::prepare_sparse(double) {
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
  for (Int i = 0; i < features.size(); ++i) phase.view<double>()(0, i) = this->phase(features[i]);
  scale(omega, 0.5 / std::numbers::pi);
  return std::make_shared<CosineBlock>(omega, phase, std::sqrt(2.0 / settings_.p), dtype);
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
