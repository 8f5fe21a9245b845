// sorf: Fourier cosines and sines of structured orthogonal frequencies (Yu et al., 2016). For rows x, padded with zeros
// to a power of two D, the D frequencies of a group are the rows of
//
//     W = diag(r) H D₁ H D₂ H D₃,     H the Walsh–Hadamard matrix / √D,     D_k random signs,
//
// so that W x costs D log D additions in place of D d products. H D₁ H D₂ H D₃ is nearly a random rotation, and r_m
// = ‖ω'_m‖ with ω'_m of D coordinates from the kernel's measure (the paper has √D / σ for all), so that the estimate is
// as good as unbiased; D is at least 64, since it is not for smaller ones. Features 2m and 2m + 1 are the cosine and
// the sine of frequency m. For kernels whose measure is isotropic.
#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <numbers>

#include "core/random.hpp"
#include "core/turns.hpp"
#include "core/walsh_hadamard.hpp"
#include "modules/features/feature_map.hpp"
#include "modules/features/long_rows.hpp"

namespace kbcd {
namespace {

template <class T>
using Line = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;

constexpr Int factors = 3;  // H D_k, of a group

// Features of a block that follow each other and are of one group.
struct Run {
  Int feature, count, column;
  Int frequency() const { return feature / 2; }
  Int frequencies() const { return (feature + count + 1) / 2 - frequency(); }
};

std::vector<Run> runs_of(const Index& features, Int size) {
  std::vector<Run> runs;
  for (Int i = 0; i < features.size(); ++i) {
    Int j = features[i];
    bool goes_on = !runs.empty() && j == runs.back().feature + runs.back().count && j % (2 * size) != 0;
    if (goes_on)
      ++runs.back().count;
    else
      runs.push_back({j, 1, i});
  }
  return runs;
}

// A Matrix of f64 and its copy in f32.
struct Numbers {
  explicit Numbers(const Matrix& numbers) : wide(numbers), narrow(numbers.to(DType::f32)) {}
  template <class T>
  T* line(Int i) const {
    const Matrix& numbers = std::is_same_v<T, float> ? narrow : wide;
    return numbers.view<T>().line(i);
  }
  Matrix wide, narrow;
};

// The features of some runs, by transforms. Row i of signs, radii and phases is that of run i.
class TransformBlock : public FeatureBlock {
 public:
  TransformBlock(std::vector<Run> runs, Int size, Matrix signs, Matrix radii, Matrix phases, double scale)
      : runs_(std::move(runs)), size_(size), signs_(signs), radii_(radii), phases_(phases), scale_(scale) {
    std::vector<double> sizes;  // of a frequency's coordinates, in turns
    for (std::size_t r = 0; r < runs_.size(); ++r)
      for (Int m = 0; m < runs_[r].frequencies(); ++m) sizes.push_back(radii_.line<double>(r)[m] / std::sqrt(size));
    std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 2, sizes.end());
    typical_ = sizes[sizes.size() / 2];
  }
  void apply(View<float> x, View<float> z) const override {
    if (!loses_digits(typical_, longest_row(x))) return dense(x, z);
    in_f64(x, z, [&](View<double> wide, View<double> out) { dense(wide, out); });
  }
  void apply(View<double> x, View<double> z) const override { dense(x, z); }

  void set_longest_sparse_row(double length) { in_f64_ = loses_digits(typical_, length); }
  void apply(const Csr& x, std::span<const Int> rows, View<float> z) const override {
    in_f64_ ? sparse<double>(x, rows, z) : sparse<float>(x, rows, z);
  }
  void apply(const Csr& x, std::span<const Int> rows, View<double> z) const override { sparse<double>(x, rows, z); }

 private:
  template <class T>
  void dense(View<T> x, View<T> z) const {
    transform<T>(z, [&](Int i, T* signs, T* y) {
      Line<T>(y, x.cols) = Line<T>(x.line(i), x.cols) * Line<T>(signs, x.cols);
      std::fill(y + x.cols, y + size_, T(0));
    });
  }
  template <class Sum, class T>
  void sparse(const Csr& x, std::span<const Int> rows, View<T> z) const {
    const T* values = x.values.view<T>().data;
    transform<Sum>(z, [&](Int i, Sum* signs, Sum* y) {
      std::fill_n(y, size_, Sum(0));
      for (Int e = x.starts[rows[i]]; e < x.starts[rows[i] + 1]; ++e)
        y[x.columns[e]] = Sum(values[e]) * signs[x.columns[e]];
    });
  }

  // put(i, signs, y): y = D₃ x_i, padded.
  template <class Sum, class T, class Put>
  void transform(View<T> z, Put&& put) const {
    thread_local std::vector<Sum> y, both;
    y.resize(size_), both.resize(2 * size_);
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const Run& run = runs_[r];
      Sum* signs = signs_.line<Sum>(r);
      for (Int i = 0; i < z.rows; ++i) {
        put(i, signs, y.data());
        for (Int k = 1; k < factors; ++k) {
          walsh_hadamard(y.data(), size_);
          Line<Sum>(y.data(), size_) *= Line<Sum>(signs + k * size_, size_);
        }
        walsh_hadamard(y.data(), size_);
        cosines(run, radii_.line<Sum>(r), phases_.line<Sum>(r), y.data() + run.frequency() % size_, both.data());
        std::copy_n(both.data() + run.feature % 2, run.count, z.line(i) + run.column);
      }
    }
  }

  template <class T>
  void cosines(const Run& run, const T* radii, const T* phases, const T* y, T* both) const {
    T scale = T(scale_);
    for (Int m = 0; m < run.frequencies(); ++m) {
      T turns = y[m] * radii[m] + phases[m];
      both[2 * m] = scale * cos_of_turns(turns);
      both[2 * m + 1] = scale * cos_of_turns(turns - T(0.25));
    }
  }

  std::vector<Run> runs_;
  Int size_;
  Numbers signs_, radii_, phases_;
  double scale_, typical_ = 0;
  bool in_f64_ = false;  // sparse rows of f32
};

class Sorf : public CosineMap {
 public:
  explicit Sorf(MapSettings settings) : CosineMap(std::move(settings)) {
    require(kernel()->isotropic(),
            "features.sorf: a kernel of |x-y| expected (whose measure is isotropic), got {}; fourier takes it",
            kernel()->name());
  }
  std::string name() const override { return "sorf"; }
  bool in_order() const override { return true; }

  std::shared_ptr<FeatureBlock> block(const Index& features, Int d, DType dtype) const override {
    if (auto block = by_transforms(features, d)) return block;
    return CosineMap::block(features, d, dtype);
  }
  std::shared_ptr<FeatureBlock> sparse_block(const Index& features, Int d, DType dtype,
                                             double longest_row) const override {
    auto block = by_transforms(features, d);
    if (!block) return CosineMap::sparse_block(features, d, dtype, longest_row);
    block->set_longest_sparse_row(longest_row);
    return block;
  }

 protected:
  double phase(Int feature) const override { return paired_phase(feature); }

  // Row m of W is r_m D₃ H D₂ H D₁ H e_m.
  void frequencies(const Index& features, View<double> omega) const override {
    Int size = padded(omega.cols);
    parallel_for(features.size(), features.size() * size * 100, [&](Int i) {
      Int m = features[i] / 2;
      std::vector<double> y(size), signs(factors * size);
      set_signs(m / size, size, signs.data());
      y[m % size] = 1;
      for (Int k = factors - 1; k >= 0; --k) {
        walsh_hadamard(y.data(), size);
        Line<double>(y.data(), size) *= Line<double>(signs.data() + k * size, size);
      }
      Line<double>(omega.line(i), omega.cols) = Line<double>(y.data(), omega.cols) * radius(m, size);
    });
  }

 private:
  // None where the features are so far apart that products with W cost less.
  std::shared_ptr<TransformBlock> by_transforms(const Index& features, Int d) const {
    constexpr double additions_in_a_product = 0.25;  // of as much time, as measured
    Int size = padded(d);
    auto runs = runs_of(features, size);
    Int count = static_cast<Int>(runs.size());
    double additions = static_cast<double>(factors) * count * size * std::countr_zero(static_cast<std::uint64_t>(size));
    if (additions_in_a_product * features.size() * d < additions) return nullptr;
    Int longest = 0;
    for (const Run& run : runs) longest = std::max(longest, run.frequencies());
    Matrix signs(count, factors * size, DType::f64), radii(count, longest, DType::f64),
        phases(count, longest, DType::f64);
    for (Int r = 0; r < count; ++r) {
      Int first = runs[r].frequency(), frequencies = runs[r].frequencies();
      set_signs(first / size, size, signs.view<double>().line(r));
      parallel_for(frequencies, frequencies * size * 16, [&](Int m) {
        radii.view<double>()(r, m) = radius(first + m, size) * 0.5 / std::numbers::pi;
        phases.view<double>()(r, m) = phase(2 * (first + m));
      });
    }
    return std::make_shared<TransformBlock>(runs, size, signs, radii, phases, std::sqrt(2.0 / p()));
  }

  static Int padded(Int d) { return std::max<Int>(64, std::bit_ceil(static_cast<std::uint64_t>(d))); }

  // D₃, D₂ and D₁ of a group, each times the 1/√D of its H.
  void set_signs(Int group, Int size, double* signs) const {
    Random random(settings_.seed, Stream::sign, static_cast<std::uint32_t>(size));
    for (Int first = 0; first < factors * size; first += 64) {
      std::uint64_t bits = random.bits(group, static_cast<std::uint32_t>(first / 64));
      for (Int i = 0; i < 64; ++i) signs[first + i] = (bits >> i & 1 ? 1 : -1) / std::sqrt(size);
    }
  }

  double radius(Int m, Int size) const {
    std::vector<double> drawn(size);
    settings_.kernel->frequency(settings_.seed, m, drawn);
    return std::sqrt(Line<double>(drawn.data(), size).square().sum());
  }
};

const RegisteredFeatureMap<Sorf> sorf(
    {.name = "sorf",
     .formula = "sqrt(2/p) cos or sin(omega_m.x + b_m), omega_m by fast transforms of d log d, orthogonal in groups"});

}  // namespace
}  // namespace kbcd
