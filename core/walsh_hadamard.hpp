// The fast Walsh–Hadamard transform: y ← H y in n log₂ n additions, with H(i, j) = (−1)^(number of common bits of i and
// j).
#pragma once

#include "core/parallel.hpp"

namespace kbcd {

// In place, on one thread; n is a power of two. H is not scaled: H H = n I.
template <class T>
void walsh_hadamard(T* y, Int n);

}  // namespace kbcd
