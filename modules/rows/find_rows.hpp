// find_rows(x, z): for each row of the data set z, on every rank, the number of an equal row of x.
//
// A row is identified by 128 bits of checksums over its numbers that are not 0 and their columns, so that dense and
// sparse rows can be compared, and no rank sends rows.
#pragma once

#include <vector>

#include "modules/data/dataset.hpp"

namespace kbcd {

// The first equal row of x for each row of z, or -1 (collective).
std::vector<Int> find_rows(const DataSet& x, const DataSet& z);

}  // namespace kbcd
