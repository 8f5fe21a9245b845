// f16 (IEEE half precision, 11 bits) as storage: numbers are packed when they are stored and unpacked when they are
// read, so that loops that are bound by memory run twice as fast.
#pragma once

#include <cstdint>

#include "core/parallel.hpp"

namespace kbcd::half {

constexpr float largest = 65504;

// False if a number is larger than f16 holds; the packed numbers must not be used then.
bool pack(const float* from, std::uint16_t* to, Int count);
void unpack(const std::uint16_t* from, float* to, Int count);

}  // namespace kbcd::half
