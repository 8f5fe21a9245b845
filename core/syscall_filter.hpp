// The system calls that a confined process may make (confine.hpp): those of a list, some with certain arguments alone;
// every other fails with EPERM.
//
// The list is what kbcd, OpenMP, OpenBLAS, HDF5 and MPI use once they run: files (Landlock says which), memory,
// threads, time, and messages through sockets that are open already. Not on it: programs (execve), other processes
// (fork, ptrace, process_vm_*, signals to others), new sockets, System V memory, owners, dates and attributes of files
// by their path (which Landlock does not check), mounts, namespaces, io_uring, bpf, perf, keys, userfaultfd and the
// rest.
//
// Memory may become executable, since LuaJIT compiles loops, but is never writable and executable at once.
#pragma once

namespace kbcd::syscall_filter {

bool available();  // whether this kernel has such filters
void load();       // for all threads, for good

}  // namespace kbcd::syscall_filter
