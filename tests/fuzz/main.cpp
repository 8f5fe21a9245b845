// libFuzzer's two entries. The first folder among the arguments gets the seeds if it is empty.
#include <sanitizer/lsan_interface.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/comm.hpp"
#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const char* data, std::size_t size) {
  std::ofstream out(path, std::ios::binary);
  out.write(data, static_cast<std::streamsize>(size));
  if (!out.flush()) std::abort();
}

}  // namespace

// In place of zlib's own (by the linker's --wrap): large buffers would take most of the time, and small ones are
// refilled.
extern "C" int __real_gzbuffer(gzFile file, unsigned size);
extern "C" int __wrap_gzbuffer(gzFile file, unsigned) {
  return __real_gzbuffer(file, 512);
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  {
    __lsan::ScopedDisabler what_mpi_keeps;
    new kbcd::comm::Session(argc, argv);  // never ended: libFuzzer leaves without a return from main
  }
  for (int i = 1; i < *argc; ++i) {
    fs::path folder = (*argv)[i];
    if (!fs::is_directory(folder)) continue;
    if (!fs::is_empty(folder)) break;
    int count = 0;
    for (auto& seed : kbcd::fuzz::seeds()) write(folder / fmt::format("seed{}", count++), seed.data(), seed.size());
    break;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  static const fs::path path = fs::path("/dev/shm") / fmt::format("kbcd_fuzz_{}", getpid());
  write(path, reinterpret_cast<const char*>(data), size - 1);
  try {
    kbcd::fuzz::parse(path, data[size - 1]);
  } catch (const kbcd::Error&) {
  }
  fs::remove(path);  // a new one each time: HDF5 knows files by their inode
  return 0;
}
