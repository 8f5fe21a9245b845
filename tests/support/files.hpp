// Files for the tests of loaders: made of bytes, read by all ranks.
#pragma once

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "modules/data/loader.hpp"
#include "tests/support/bytes.hpp"
#include "tests/support/messages.hpp"
#include "tests/support/reference.hpp"

namespace kbcd::tests {

// A file that rank 0 writes for all, gone with the object (collective).
struct File {
  std::string path;

  explicit File(const Bytes& content, bool gzip = false, const std::string& extension = "") {
    static int count = 0;
    path = (std::filesystem::temp_directory_path() / fmt::format("kbcd_test_{}_{}{}", getpid(), count++, extension))
               .string();
    comm::bcast(path, 0);
    if (comm::rank() == 0) write(content, gzip);
    comm::barrier();
  }
  File(const File&) = delete;
  ~File() {
    comm::barrier();
    if (comm::rank() == 0) std::filesystem::remove(path);
  }
  Bytes content() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  void write(const Bytes& content, bool gzip) const {
    if (gzip) {
      gzFile out = gzopen(path.c_str(), "wb");
      gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
      gzclose(out);
    } else {
      std::ofstream(path, std::ios::binary) << content;
    }
  }
};

inline Dense rows_by_rows(const std::vector<double>& values, Int rows) {
  Int cols = static_cast<Int>(values.size()) / rows;
  return ::Eigen::Map<const ::Eigen::Matrix<double, -1, -1, ::Eigen::RowMajor>>(values.data(), rows, cols);
}

// Every so many of many broken files: all of them on one rank, a part on several, where each costs a dozen collectives.
inline std::size_t step() {
  return comm::size() == 1 ? 1 : 19;
}

// Whether every rank refuses the file; it must do so with the same words, by name, without any large allocation, and in
// no other way.
inline std::size_t largest_allocation = 0;
inline std::string refusal(const std::string& path, const Values& options = {}) {
  std::string message;
  largest_allocation = 0;
  memory::set_allocation_hook([](std::size_t bytes) { largest_allocation = std::max(largest_allocation, bytes); });
  try {
    load(path, options);
  } catch (const Error& error) {
    message = error.what();
    BOOST_TEST(message.find(path) != message.npos, "no path in: " << message);
  } catch (const std::exception& error) {
    BOOST_ERROR(path << ": not a kbcd::Error but " << error.what());
  }
  memory::set_allocation_hook(nullptr);
  BOOST_TEST(largest_allocation < std::size_t{1} << 20);
  for (auto& other : comm::allgather(message)) BOOST_TEST(other == message);
  return message;
}

inline bool refuses(const std::string& path, const Values& options = {}) {
  return !refusal(path, options).empty();
}

inline bool refuses_bytes(const Bytes& content, bool gzip = false) {
  return refuses(File(content, gzip).path);
}

}  // namespace kbcd::tests
