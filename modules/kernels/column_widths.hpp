// A kernel with a width σ_c for each column, K(x, y) = k((x − y) / σ): the kernel of width 1 on rows that are divided
// by the widths. Those who train and predict scale the rows once (the metric of a model); a block does not, and refuses
// it.
#pragma once

#include "modules/kernels/kernel.hpp"

namespace kbcd {

// What format.make gives for a list of widths in place of one.
std::shared_ptr<Kernel> with_column_widths(const KernelFormat& format, const Values& given,
                                           const std::vector<Value>& widths);

}  // namespace kbcd
