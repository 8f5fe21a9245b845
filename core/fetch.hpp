// Files that are on rank 0's host alone.
//
// fetch(path) compares the file of each host with that of rank 0 (size and checksum). Where a host has none, or another
// one, rank 0's is sent in pieces to the first rank of each host, which writes it to its temporary folder ($TMPDIR,
// /tmp). The result is a path at which every rank of the job finds rank 0's file, the same on all: `path` itself where
// all have it.
#pragma once

#include <string>

namespace kbcd {

std::string fetch(const std::string& path);  // all ranks call it
// An Error where a host has no such file, or another one (by its size and samples of its content), while rank 0's has
// it.
void require_same_file(const std::string& path);  // all ranks call it
void forget_fetched(const std::string& fetched);  // removes the copies; all ranks call it, when all have read them

}  // namespace kbcd
