// MurmurHash3 x86_32 (Austin Appleby's, public domain; written from its description): 32 bits of any bytes and a seed.
//
// For each word k of four bytes:  h ← 5 rotl13(h ⊕ c2 rotl15(c1 k)) + 0xe6546b64;  the rest likewise, without the last
// step; then the length and a mix of all bits.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kbcd {

// The hashes of longer and longer prefixes of a text, each continued from the one before.
class Murmur3 {
 public:
  Murmur3(const char* at, std::uint32_t seed) : at_(at), h_(seed) {}

  // Of the first `count` bytes; no fewer than at the last call.
  std::uint32_t operator()(std::size_t count) {
    static_assert(std::endian::native == std::endian::little);
    std::uint32_t k;
    for (; done_ + 4 <= count; done_ += 4) {
      std::memcpy(&k, at_ + done_, 4);
      h_ = std::rotl(h_ ^ scrambled(k), 13) * 5 + 0xe6546b64u;
    }
    std::uint32_t h = h_;
    if (std::size_t left = count - done_) {
      k = byte(0);
      if (left > 1) k |= byte(1);
      if (left > 2) k |= byte(2);
      h ^= scrambled(k);
    }
    h ^= static_cast<std::uint32_t>(count);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
  }

 private:
  static std::uint32_t scrambled(std::uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; }
  std::uint32_t byte(int i) const {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(at_[done_ + i])) << 8 * i;
  }

  const char* at_;
  std::uint32_t h_;
  std::size_t done_ = 0;  // bytes, in whole words of four
};

inline std::uint32_t murmur3(std::string_view bytes, std::uint32_t seed) {
  return Murmur3(bytes.data(), seed)(bytes.size());
}

}  // namespace kbcd
