#include "core/random.hpp"

#include <Random123/philox.h>

#include <Eigen/Core>
#include <algorithm>

#include "core/turns.hpp"

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

// Philox as Random123 computes it, for counters {row, row >> 32, number + i, 0} of i in [0, many), in loops that are
// vectorised: many calls take a fraction of the time of one after the other.
template <std::size_t many>
void Random::pairs(std::uint64_t row, std::uint32_t number, std::uint64_t (&one)[many],
                   std::uint64_t (&other)[many]) const {
  constexpr std::uint64_t multipliers[2] = {0xD2511F53, 0xCD9E8D57};
  constexpr std::uint32_t steps[2] = {0x9E3779B9, 0xBB67AE85};
  std::uint32_t a[many], b[many], c[many], d[many], keys[2] = {key_[0], key_[1]};
  for (std::size_t i = 0; i < many; ++i) {
    a[i] = static_cast<std::uint32_t>(row), b[i] = static_cast<std::uint32_t>(row >> 32);
    c[i] = number + static_cast<std::uint32_t>(i), d[i] = 0;
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < many; ++i) {
      std::uint64_t first = multipliers[0] * a[i], second = multipliers[1] * c[i];
      a[i] = static_cast<std::uint32_t>(second >> 32) ^ b[i] ^ keys[0];
      b[i] = static_cast<std::uint32_t>(second);
      c[i] = static_cast<std::uint32_t>(first >> 32) ^ d[i] ^ keys[1];
      d[i] = static_cast<std::uint32_t>(first);
    }
    keys[0] += steps[0], keys[1] += steps[1];
  }
  for (std::size_t i = 0; i < many; ++i) {
    one[i] = static_cast<std::uint64_t>(a[i]) << 32 | b[i];
    other[i] = static_cast<std::uint64_t>(c[i]) << 32 | d[i];
  }
}

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

std::uint64_t Random::below(std::uint64_t bound, std::uint64_t row, std::uint32_t s) const {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits(row, s)) * bound) >> 64);
}

// Box–Muller: numbers 2s and 2s + 1 from uniforms 2s and 2s + 1, some pairs at a time, so that loops are vectorised.
void Random::normals(std::uint64_t row, std::span<double> out) const {
  constexpr std::size_t most = 64, worth_vectors = 8;
  Eigen::Array<double, most, 1> radius, turns;
  for (std::size_t first = 0; first < out.size(); first += 2 * most) {
    std::size_t left = out.size() - first, pairs = std::min(most, (left + 1) / 2);
    std::uint64_t one[most], other[most];
    auto number = static_cast<std::uint32_t>(first / 2);
    if (pairs >= worth_vectors)
      this->pairs(row, number, one, other);
    else
      for (std::uint32_t i = 0; i < pairs; ++i) {
        auto [first_word, second_word] = pair(row, number + i);
        one[i] = first_word, other[i] = second_word;
      }
    for (std::size_t i = 0; i < pairs; ++i) {
      radius[i] = uniform_of(one[i]);
      turns[i] = uniform_of(other[i]);
    }
    radius.head(pairs) = (-2 * radius.head(pairs).log()).sqrt();
    double both[2 * most];
    for (std::size_t i = 0; i < pairs; ++i) {
      both[2 * i] = radius[i] * cos_of_turns(turns[i]);
      both[2 * i + 1] = radius[i] * cos_of_turns(turns[i] - 0.25);
    }
    std::copy_n(both, std::min(left, 2 * pairs), out.data() + first);
  }
}

}  // namespace kbcd
