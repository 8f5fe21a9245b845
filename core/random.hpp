// Counter-based randomness (Philox 4x32-10): number s of row r is a pure function of (seed, stream, r, s), so
// that any rank can make any part and a run is the same on any number of ranks and threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace kbcd {

// What the numbers are for; two purposes never share numbers under the same seed.
enum class Stream : std::uint32_t {
  permutation = 1,
  normal,
  uniform,
  frequency,
  phase,
  radius,
  rotation,
  crop,
  patch,
  draw,
  sketch,
  sign,
  digit
};

class Random {
 public:
  // `user` numbers independent uses of one purpose (such as the permutation of each epoch).
  Random(std::uint64_t seed, Stream stream, std::uint32_t user = 0);

  std::uint64_t bits(std::uint64_t row, std::uint32_t s) const;
  double uniform(std::uint64_t row, std::uint32_t s) const;                                // in (0, 1)
  std::uint64_t below(std::uint64_t bound, std::uint64_t row, std::uint32_t s = 0) const;  // in [0, bound)
  void normals(std::uint64_t row, std::span<double> out) const;                            // N(0, 1)

 private:
  std::array<std::uint64_t, 2> pair(std::uint64_t row, std::uint32_t number) const;  // bits 2 number and 2 number + 1
  template <std::size_t many>
  void pairs(std::uint64_t row, std::uint32_t number, std::uint64_t (&one)[many], std::uint64_t (&other)[many]) const;

  std::uint32_t key_[2];
};

}  // namespace kbcd
