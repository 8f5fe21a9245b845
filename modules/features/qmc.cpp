// qmc: Fourier cosines and sines of quasi-Monte-Carlo frequencies (Yang, Sindhwani, Avron and Mahoney, 2014):
// coordinate c of frequency m is the quantile of the kernel's measure at u_c(m), with u a randomised Halton sequence.
// With m = Σ_k m_k b^k in base b, the c-th prime,
//
//     u_c(m) = Σ_k π_ck(m_k) b^(−k−1),     π_ck(x) = (a_ck x + s_ck) mod b,     a_ck in 1..b−1 and s_ck in 0..b−1
//     random.
//
// The plain sequence (π the identity) runs along diagonals in the hundreds of dimensions. The random π remove that:
// any two digits become a random pair of distinct ones, as under a random permutation, so that the estimate is unbiased
// and its variance that of fully permuted digits (Owen, 2017), without tables. A frequency does not depend on their
// number. Features 2m and 2m + 1 are the cosine and the sine of frequency m, so that phases add no error of their own.
// For kernels whose frequencies have independent coordinates.
#include <cmath>

#include "core/random.hpp"
#include "modules/features/feature_map.hpp"

namespace kbcd {
namespace {

std::vector<std::uint32_t> primes(Int count) {
  std::vector<std::uint32_t> found;
  for (Int most = std::max<Int>(32, 20 * count); static_cast<Int>(found.size()) < count; most *= 2) {
    std::vector<bool> composite(most);
    found.clear();
    for (Int i = 2; i < most && static_cast<Int>(found.size()) < count; ++i) {
      if (composite[i]) continue;
      found.push_back(static_cast<std::uint32_t>(i));
      for (Int j = i * i; j < most; j += i) composite[j] = true;
    }
  }
  return found;
}

// One coordinate of the sequence.
class Digits {
 public:
  Digits(std::uint64_t seed, Int coordinate, std::uint64_t base) : base_(base) {
    constexpr double smallest = 0x1p-52;  // what further digits would add
    Random random(seed, Stream::digit);
    for (double weight = 1; weight > smallest; weight /= static_cast<double>(base)) {
      auto k = static_cast<std::uint32_t>(2 * digits_.size());
      digits_.push_back({1 + random.below(base - 1, coordinate, k), random.below(base, coordinate, k + 1),
                         weight / static_cast<double>(base)});
    }
    rest_.assign(digits_.size() + 1, smallest / 2);
    for (std::size_t k = digits_.size(); k-- > 0;)
      rest_[k] = rest_[k + 1] + static_cast<double>(digits_[k].shift) * digits_[k].weight;
  }

  double operator()(std::uint64_t m) const {  // in (0, 1)
    double sum = 0;
    std::size_t k = 0;
    for (; m > 0 && k < digits_.size(); m /= base_, ++k)
      sum += static_cast<double>((digits_[k].factor * (m % base_) + digits_[k].shift) % base_) * digits_[k].weight;
    return std::min(sum + rest_[k], 1 - 0x1p-53);
  }

 private:
  struct Digit {
    std::uint64_t factor, shift;
    double weight;
  };
  std::uint64_t base_;
  std::vector<Digit> digits_;
  std::vector<double> rest_;  // what the digits from k on add where they are 0
};

class Qmc : public CosineMap {
 public:
  explicit Qmc(MapSettings settings) : CosineMap(std::move(settings)) {
    require(kernel()->frequency_quantile(0.5).has_value(),
            "features.qmc: a kernel whose frequencies have independent coordinates of a known quantile expected, such "
            "as rbf, got {}; fourier takes it",
            kernel()->name());
  }
  std::string name() const override { return "qmc"; }

 protected:
  double phase(Int feature) const override { return paired_phase(feature); }

  void frequencies(const Index& features, View<double> omega) const override {
    auto bases = primes(omega.cols);
    constexpr Int at_once = 8;  // coordinates: a line of the cache of each row
    Int parts = (omega.cols + at_once - 1) / at_once;
    parallel_for(parts, omega.rows * omega.cols * 100, [&](Int part) {
      for (Int c = part * at_once; c < std::min(omega.cols, (part + 1) * at_once); ++c) {
        Digits u(settings_.seed, c, bases[c]);
        for (Int i = 0; i < omega.rows; ++i) omega(i, c) = *kernel()->frequency_quantile(u(features[i] / 2));
      }
    });
  }
};

const RegisteredFeatureMap<Qmc> qmc(
    {.name = "qmc", .formula = "sqrt(2/p) cos or sin(omega_m.x + b_m), omega_m from a randomised Halton sequence"});

}  // namespace
}  // namespace kbcd
