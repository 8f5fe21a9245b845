// kernel_diagonal(x, kernel): K(x_i, x_i) of this rank's rows, n x 1.
#pragma once

#include "modules/data/dataset.hpp"
#include "modules/kernels/kernel.hpp"

namespace kbcd {

Matrix kernel_diagonal(const DataSet& x, const std::shared_ptr<Kernel>& kernel);

}  // namespace kbcd
