// The phases of some features and their common factor: z_j = scale · cos(2π (t_j + phase_j)), for angles t_j in turns.
#pragma once

#include "core/matrix.hpp"
#include "core/turns.hpp"

namespace kbcd {

class Phases {
 public:
  Phases(const Matrix& phases, double scale) : wide_(phases), narrow_(phases.to(DType::f32)), scale_(scale) {}

  // Features [first, first + count); `line` may be `angles`.
  template <class Angle, class T>
  void cosines(const Angle* angles, Int first, Int count, T* line) const {
    const Matrix& phases = std::is_same_v<Angle, float> ? narrow_ : wide_;
    const Angle* phase = phases.view<Angle>().data + first;
    Angle scale = Angle(scale_);
    for (Int j = 0; j < count; ++j) line[j] = static_cast<T>(scale * cos_of_turns(angles[j] + phase[j]));
  }

 private:
  Matrix wide_, narrow_;  // 1 x features
  double scale_;
};

}  // namespace kbcd
