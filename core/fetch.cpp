#include "core/fetch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "core/access.hpp"
#include "core/checksum.hpp"
#include "core/comm.hpp"
#include "core/error.hpp"

namespace kbcd {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece = std::size_t{4} << 20;
constexpr const char* prefix = "kbcd-of-rank-0-";

// Calls each(bytes) for every piece of a file; false where it cannot be read.
template <class Each>
bool read_pieces(const std::string& path, Each each) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(piece, '\0');
  while (file.good()) {
    file.read(bytes.data(), piece);
    each(std::string_view(bytes).substr(0, static_cast<std::size_t>(file.gcount())));
  }
  return file.eof();
}

// Its size and checksum; empty where there is no such file.
std::string description(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";
  Checksum sum;
  std::size_t size = 0;
  bool good = read_pieces(path, [&](std::string_view bytes) {
    sum.add(bytes.data(), bytes.size());
    size += bytes.size();
  });
  return good ? fmt::format("{} {}", size, Checksum::text(sum.value())) : "";
}

// The same, of some pieces alone: data can be large.
std::string sample(const std::string& path) {
  constexpr std::size_t pieces = 64, bytes = 1 << 16;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";
  std::size_t size = fs::file_size(path, error), step = std::max(size / pieces, bytes);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return "";
  Checksum sum;
  std::string piece(bytes, '\0');
  for (std::size_t at = 0; at < size; at += step) {
    file.seekg(static_cast<std::streamoff>(at));
    file.read(piece.data(), bytes);
    sum.add(piece.data(), static_cast<std::size_t>(file.gcount()));
    file.clear();
  }
  return fmt::format("{} {}", size, Checksum::text(sum.value()));
}

bool is_first_of_host() {
  for (int r = 0; r < comm::rank(); ++r)
    if (comm::host_of(r) == comm::host_of(comm::rank())) return false;
  return true;
}

// A name that no one can guess, and so no one can have made before.
std::string new_folder() {
  std::random_device random;
  std::string folder = (fs::temp_directory_path() / fmt::format("{}{:08x}{:08x}", prefix, random(), random())).string();
  comm::bcast(folder, 0);
  return folder;
}

void make_folder(const std::string& folder) {
  require(mkdir(folder.c_str(), 0700) == 0, "{}: the folder for files of rank 0 cannot be made ({})", folder,
          std::strerror(errno));
}

// Rank 0 sends its file, and the first rank of each other host writes it.
void send_file(const std::string& path, const std::string& copy, bool writes) {
  std::ofstream to;
  if (writes && comm::rank() != 0) to.open(copy, std::ios::binary);
  auto pass = [&](std::string bytes) {
    comm::bcast(bytes, 0);
    if (to.is_open()) to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return !bytes.empty();
  };
  if (comm::rank() == 0) {
    read_pieces(path, [&](std::string_view bytes) {
      if (!bytes.empty()) pass(std::string(bytes));
    });
    pass("");
  } else {
    while (pass("")) {
    }
  }
  if (writes && comm::rank() != 0) to.close();
  comm::together([&] {
    require(!writes || comm::rank() == 0 || to.good(), "{}: rank 0's {} could not be written there; is the disk full?",
            copy, path);
  });
}

}  // namespace

void require_same_file(const std::string& path) {
  if (comm::host_of(0).empty()) return;
  access::reading(path);
  std::string mine = sample(path), root = mine;
  comm::bcast(root, 0);
  comm::together([&] {
    if (root.empty()) return;  // whoever opens it reports it
    require(!mine.empty(), "{}: there is no such file here, but on the host of rank 0, {}: --from-root sends it", path,
            comm::host_of(0));
    require(mine == root, "{}: the file here is another one than on the host of rank 0, {}: --from-root sends that one",
            path, comm::host_of(0));
  });
}

std::string fetch(const std::string& path) {
  if (comm::host_of(0).empty()) return path;
  access::reading(path);
  std::string mine = description(path), root = mine;
  comm::bcast(root, 0);
  bool same = mine == root || root.empty();  // without a file there, opening it fails, and says so
  if (comm::allreduce(same ? 1 : 0, comm::Reduction::min) == 1) return path;
  std::string folder = new_folder(), copy = (fs::path(folder) / fs::path(path).filename()).string();
  bool writes = is_first_of_host();
  comm::together([&] {
    if (writes) make_folder(folder);
    if (comm::rank() == 0) fs::create_symlink(fs::absolute(path), copy);
  });
  send_file(path, copy, writes);
  return copy;
}

void forget_fetched(const std::string& fetched) {
  comm::barrier();
  fs::path folder = fs::path(fetched).parent_path();
  std::error_code error;
  if (folder.filename().string().starts_with(prefix) && is_first_of_host()) fs::remove_all(folder, error);
}

}  // namespace kbcd
