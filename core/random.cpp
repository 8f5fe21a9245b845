#include "core/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace kbcd {

using Philox = r123::Philox4x32;

// The stream and the user's number go into the key through a Philox call of their own, so that the counter is
// free for row and position.
Random::Random(std::uint64_t seed, Stream stream, std::uint32_t user) {
  auto key = Philox{}({{static_cast<std::uint32_t>(stream), user, 0, 0}},
                      {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
  key_[0] = key[0];
  key_[1] = key[1];
}

namespace {

double uniform_of(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

// Each Philox call gives two of the row's 64-bit words.
std::array<std::uint64_t, 2> Random::pair(std::uint64_t row, std::uint32_t number) const {
  auto words = Philox{}({{static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), number, 0}},
                        {{key_[0], key_[1]}});
  return {static_cast<std::uint64_t>(words[0]) << 32 | words[1], static_cast<std::uint64_t>(words[2]) << 32 | words[3]};
}

std::uint64_t Random::bits(std::uint64_t row, std::uint32_t s) const {
  return pair(row, s / 2)[s % 2];
}

double Random::uniform(std::uint64_t row, std::uint32_t s) const {
  return uniform_of(bits(row, s));
}

std::uint64_t Random::below(std::uint64_t bound, std::uint64_t row) const {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits(row, 0)) * bound) >> 64);
}

// Box–Muller: numbers 2s and 2s + 1 from uniforms 2s and 2s + 1.
void Random::normals(std::uint64_t row, std::span<double> out) const {
  for (std::size_t s = 0; s < out.size(); s += 2) {
    auto [first, second] = pair(row, static_cast<std::uint32_t>(s / 2));
    double radius = std::sqrt(-2 * std::log(uniform_of(first)));
    double angle = 2 * std::numbers::pi * uniform_of(second);
    out[s] = radius * std::cos(angle);
    if (s + 1 < out.size()) out[s + 1] = radius * std::sin(angle);
  }
}

}  // namespace kbcd
