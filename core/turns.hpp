// cos(2π t) of an angle t in turns: whole turns cancel exactly, and without calls or branches loops over it are
// vectorised.
//
//   cos(2π t) = sin(2π s),  s = ¼ − |t − [t]| in [−¼, ¼],  sin(x) = Σ_i (−1)^i x^(2i+1) / (2i+1)!
#pragma once

#include <array>
#include <limits>
#include <numbers>

namespace kbcd {

// The series of sin(2π s) in s, as far as T has digits.
template <class T>
constexpr auto sine_of_turns = [] {
  std::array<T, std::numeric_limits<T>::digits <= 24 ? 6 : 11> series{};
  double term = 2 * std::numbers::pi;
  for (int i = 0; i < static_cast<int>(series.size()); ++i) {
    series[i] = T(term);
    term *= -4 * std::numbers::pi * std::numbers::pi / ((2 * i + 2) * (2 * i + 3));
  }
  return series;
}();

// Infinite and NaN give NaN; beyond 2^(digits - 2) turns, where t has hardly a fraction, something within [−1, 1].
template <class T>
[[gnu::always_inline]] inline T cos_of_turns(T t) {
  constexpr T round = T(1.5) / std::numeric_limits<T>::epsilon();  // adding it drops the fraction
  constexpr auto& series = sine_of_turns<T>;
  T rest = t - ((t + round) - round), s = T(0.25) - (rest < 0 ? -rest : rest);
  s = s < T(-0.25) ? T(-0.25) : s;
  T square = s * s, sum = series.back();
#pragma GCC unroll 16
  for (int i = static_cast<int>(series.size()) - 2; i >= 0; --i) sum = sum * square + series[i];
  return s * sum;
}

}  // namespace kbcd
