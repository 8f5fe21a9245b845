// SparseCosines: scale · cos(2π (ω_j·x + phase_j)) for sparse rows x: ω'x is a sum of lines of strips
// (core/strips.hpp), one for each column that x has. Where long rows need it (long_rows.hpp), in f64.
#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "core/strips.hpp"
#include "modules/features/feature_map.hpp"
#include "modules/features/phases.hpp"

namespace kbcd {

struct SparseFrequencies {
  Int count, d, at_once;                              // features, columns, and how many features are made at once
  std::function<void(Int first, View<double>)> make;  // a row each, from `first`
};

class SparseCosines : public FeatureBlock {
 public:
  SparseCosines(const SparseFrequencies& frequencies, Phases phases, DType dtype, double longest_row);
  void apply(View<float>, View<float>) const override { refuse(); }
  void apply(View<double>, View<double>) const override { refuse(); }
  void apply(const Csr& x, std::span<const Int> rows, View<float> z) const override;
  void apply(const Csr& x, std::span<const Int> rows, View<double> z) const override;

 private:
  [[noreturn]] static void refuse();

  std::variant<Strips<float>, Strips<double>> omega_;  // in turns; a line a column of x
  Phases phases_;
};

}  // namespace kbcd
