// f16 (IEEE half precision, 11 bits) as storage: numbers are packed on their way to memory and unpacked on their way
// back, so that what is bound by memory runs twice as fast.
#pragma once

#include <cstdint>

#include "core/parallel.hpp"

namespace kbcd::half {

constexpr float largest = 65504;

// False if a number is larger than f16 holds; then what is packed is not to be used.
bool pack(const float* from, std::uint16_t* to, Int count);
void unpack(const std::uint16_t* from, float* to, Int count);

}  // namespace kbcd::half
