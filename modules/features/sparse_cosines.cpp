#include "modules/features/sparse_cosines.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modules/features/long_rows.hpp"

namespace kbcd {
namespace {

// The frequencies of some features into strips, in turns; squares[j]: the mean square of the coordinates of each.
template <class Sum>
Strips<Sum> strips_of(const SparseFrequencies& frequencies, std::vector<double>& squares) {
  constexpr Int line = 16;  // features that are written to one line of a strip together, of which it has whole ones
  static_assert(Strips<Sum>::width % line == 0);
  Int count = frequencies.count, d = frequencies.d, at_once = frequencies.at_once;
  std::size_t bytes = count * d * sizeof(Sum);
  require(bytes <= memory::budget(),
          "RandomFeaturesBlock: {} features of {} columns take {} MB; lower b or raise --memory", count, d,
          bytes >> 20);
  Strips<Sum> strips(d, count);
  require(at_once % line == 0 || at_once >= count, "frequencies: a multiple of {} at once expected, got {}", line,
          at_once);
  Int parts = count > 0 ? (count + at_once - 1) / at_once : 0, workers = std::min<Int>(parts, thread_count());
  auto make_part = [&](Int first, View<double> omega) {
    frequencies.make(first, omega);
    for (Int j = 0; j < omega.rows; ++j) {
      double sum = 0, *of_feature = omega.line(j);
      for (Int c = 0; c < omega.cols; ++c) {
        of_feature[c] *= 0.5 / std::numbers::pi;
        sum += of_feature[c] * of_feature[c];
      }
      squares[first + j] = sum / static_cast<double>(std::max<Int>(1, omega.cols));
    }
    for (Int j0 = 0; j0 < omega.rows; j0 += line) {
      Int here = std::min(line, omega.rows - j0);
      Sum* to = strips.line((first + j0) / strips.width, 0) + (first + j0) % strips.width;
      for (Int c = 0; c < omega.cols; ++c, to += strips.width)
        for (Int j = 0; j < here; ++j) to[j] = static_cast<Sum>(omega.data[(j0 + j) * omega.ld + c]);
    }
  };
  parallel_for(workers, count * d * 16, [&](Int worker) {
    std::vector<double> buffer(std::min(at_once, count) * d);
    for (Int first = worker * at_once; first < count; first += workers * at_once)
      make_part(first, {buffer.data(), std::min(at_once, count - first), d, d});
  });
  return strips;
}

template <class T, class Sum>
void cosines(const Strips<Sum>& omega, const Phases& phases, const Csr& x, std::span<const Int> rows, View<T> z) {
  const T* values = x.values.view<T>().data;
  for (Int strip = 0; strip < omega.count(); ++strip)
    for (Int i = 0; i < z.rows; ++i) {
      Int first = strip * omega.width, begin = x.starts[rows[i]], end = x.starts[rows[i] + 1];
      Sum sums[Strips<Sum>::width] = {};
      omega.add_products(strip, x.columns.data() + begin, values + begin, end - begin, sums);
      phases.cosines(sums, first, omega.columns(strip), z.line(i) + first);
    }
}

// The size of a coordinate of a frequency, of half of the features.
double typical(std::vector<double> squares) {
  if (squares.empty()) return 0;
  auto middle = squares.begin() + static_cast<std::ptrdiff_t>(squares.size() / 2);
  std::nth_element(squares.begin(), middle, squares.end());
  return std::sqrt(*middle);
}

}  // namespace

SparseCosines::SparseCosines(const SparseFrequencies& frequencies, Phases phases, DType dtype, double longest_row)
    : phases_(std::move(phases)) {
  std::vector<double> squares(frequencies.count);
  if (dtype == DType::f32) {
    omega_ = strips_of<float>(frequencies, squares);
    if (!loses_digits(typical(squares), longest_row)) return;
  }
  omega_ = Strips<float>();
  omega_ = strips_of<double>(frequencies, squares);
}

void SparseCosines::apply(const Csr& x, std::span<const Int> rows, View<float> z) const {
  std::visit([&](auto& omega) { cosines(omega, phases_, x, rows, z); }, omega_);
}

void SparseCosines::apply(const Csr& x, std::span<const Int> rows, View<double> z) const {
  cosines(std::get<Strips<double>>(omega_), phases_, x, rows, z);
}

void SparseCosines::refuse() {
  fail("RandomFeaturesBlock: this block was made for sparse rows, and these are dense");
}

}  // namespace kbcd
