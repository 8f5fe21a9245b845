// The chunks of an HDF5 dataset, checked before HDF5 reads them: it believes that a chunk has the size that its shape
// says, and reads beyond the end of a shorter one.
#pragma once

#include "modules/data/h5.hpp"
#include "modules/data/h5_handle.hpp"

namespace kbcd::h5 {

constexpr Int best_ratio = 1032;  // deflate packs at most so much into a byte

// Those of rows [first, first + count) are as large as they must be, unpacked.
void require_whole_chunks(const std::string& where, hid_t dataset, const H5Extent& extent, Int file_bytes, Int first,
                          Int count);

}  // namespace kbcd::h5
