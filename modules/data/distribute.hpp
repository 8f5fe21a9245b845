// Makes a data set of rows of which the ranks hold different numbers.
#pragma once

#include <string>

#include "modules/data/dataset.hpp"

namespace kbcd {

// The rows that each rank has, any number of them, one rank after the other (collective). `source` begins messages.
DataSet distribute(const Matrix& mine, const std::string& source);

}  // namespace kbcd
