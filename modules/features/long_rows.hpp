// Rows that are so long beside the kernel's width that omega·x in f32 would be a wrong angle: their angles are computed
// in f64.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/matrix.hpp"

namespace kbcd {

// Whether omega·x, in turns, is wrong by more than 1e-5 of an angle in f32, for frequencies with coordinates of that
// size and a row of that length.
inline bool loses_digits(double frequency, double length) {
  return !(2 * std::numbers::pi * frequency * length * std::numeric_limits<float>::epsilon() < 1e-5);
}

inline double longest_row(View<float> x) {
  using Line = Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>>;
  float largest = 0;
  for (Int i = 0; i < x.rows; ++i) largest = std::max(largest, Line(x.line(i), x.cols).square().sum());
  return std::sqrt(largest);
}

// f(x, z) on f64 copies of both.
template <class F>
void in_f64(View<float> x, View<float> z, F&& f) {
  thread_local std::vector<double> rows, features;
  rows.resize(x.rows * x.cols), features.resize(z.rows * z.cols);
  View<double> wide{rows.data(), x.rows, x.cols, x.cols}, out{features.data(), z.rows, z.cols, z.cols};
  for (Int i = 0; i < x.rows; ++i) std::copy_n(x.line(i), x.cols, wide.line(i));
  f(wide, out);
  for (Int i = 0; i < z.rows; ++i) std::copy_n(out.line(i), z.cols, z.line(i));
}

}  // namespace kbcd
