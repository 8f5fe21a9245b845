#include "core/half.hpp"

#include <Eigen/Core>

namespace kbcd::half {

using Halves = Eigen::Map<Eigen::Array<Eigen::half, Eigen::Dynamic, 1>>;
using Floats = Eigen::Map<const Eigen::ArrayXf>;

bool pack(const float* from, std::uint16_t* to, Int count) {
  Floats numbers(from, count);
  Halves(reinterpret_cast<Eigen::half*>(to), count) = numbers.cast<Eigen::half>();
  return count == 0 || numbers.abs().maxCoeff() <= largest;
}

void unpack(const std::uint16_t* from, float* to, Int count) {
  Eigen::Map<Eigen::ArrayXf>(to, count) =
      Eigen::Map<const Eigen::Array<Eigen::half, Eigen::Dynamic, 1>>(reinterpret_cast<const Eigen::half*>(from), count)
          .cast<float>();
}

}  // namespace kbcd::half
