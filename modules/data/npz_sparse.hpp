// The sparse matrix of an archive that scipy.sparse.save_npz wrote: csr, csc or coo.
#pragma once

#include "modules/data/dataset.hpp"
#include "modules/data/zip_archive.hpp"
#include "modules/params/params.hpp"

namespace kbcd {

bool is_sparse_matrix(const std::vector<ZipMember>& members);
// This rank's rows. Nothing here is collective.
DataSet read_sparse_matrix(const std::string& path, const std::vector<ZipMember>& members, const Params& options);

}  // namespace kbcd
