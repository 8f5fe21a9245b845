#include "bindings/program/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "bindings/glue/def.hpp"
#include "core/access.hpp"
#include "core/checksum.hpp"
#include "core/comm.hpp"
#include "core/fetch.hpp"

namespace kbcd::lua {
namespace {

namespace fs = std::filesystem;

// Waits until a file, or the list of files of a folder, is written to the disk.
bool sync(const std::string& path) {
  access::reading(path);
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  bool good = fsync(descriptor) == 0;
  return close(descriptor) == 0 && good;
}

// By a new file of that name.
bool is_replaceable(const std::string& path) {
  access::writing(path);
  std::error_code error;
  auto status = fs::status(path, error);
  return !fs::exists(status) || fs::is_regular_file(status);
}

bool is_file(const std::string& path) {
  access::reading(path);
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const std::string& path) {
  access::reading(path);
  std::error_code error;
  return fs::is_directory(path, error);
}

// The path with links resolved.
std::string real_path(const std::string& path) {
  access::writing(path);
  std::error_code error;
  auto real = fs::canonical(path, error);
  return error ? path : real.string();
}

// Also if one of them, or both, do not exist yet.
bool same_file(const std::string& a, const std::string& b) {
  access::reading(a);
  access::reading(b);
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  auto place = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path, error), error); };
  return place(a) == place(b);
}

// Why no file can be created in the folder of a path; nothing if one can. Tries with a file of another name.
sol::optional<std::string> obstacle(const std::string& path) {
  access::writing(path);
  std::string trial = (fs::path(path).parent_path() / ".kbcd.XXXXXX").string();
  int descriptor = mkstemp(trial.data());
  if (descriptor < 0) return std::string(std::strerror(errno));
  close(descriptor);
  unlink(trial.c_str());
  return sol::nullopt;
}

// Copies the permissions of `path`, if it exists, to `other`, which must not be open to more people where that fails.
void copy_mode(const std::string& path, const std::string& other) {
  access::writing(path);
  access::writing(other);
  struct stat before {
  }, after{};
  if (stat(path.c_str(), &before) != 0 || chmod(other.c_str(), before.st_mode & 07777) == 0) return;
  require(stat(other.c_str(), &after) == 0 && (after.st_mode & 0777 & ~before.st_mode) == 0,
          "{}: its permissions cannot be kept (in the sandbox none are changed); remove it first", path);
}

// Files that this process has locked, by name; the system unlocks them when the process ends, in any way.
std::map<std::string, int> locked;

// Creates the file and locks it; false if another process holds the lock.
bool lock(const std::string& path) {
  access::writing(path);
  if (locked.contains(path)) return true;
  for (;;) {
    int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    require(descriptor >= 0, "{}: cannot be written ({})", path, std::strerror(errno));
    bool free = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    bool taken = !free && errno == EWOULDBLOCK;
    struct stat status {};
    bool named = fstat(descriptor, &status) == 0 && status.st_nlink > 0;
    if (named && !taken) {  // or the file system has no locks: then there is nothing to check
      locked[path] = descriptor;
      return true;
    }
    close(descriptor);
    if (taken) return false;  // else whoever had it removed it just now
  }
}

void unlock(const std::string& path) {
  auto found = locked.find(path);
  if (found == locked.end()) return;
  unlink(path.c_str());
  close(found->second);
  locked.erase(found);
}

// The numbers of a matrix, row by row, as 8 bytes each: "f8" as they are, "i8" as whole numbers.
std::string bytes_of(const Matrix& a, const std::string& kind) {
  require(kind == "f8" || kind == "i8", "files.bytes: \"f8\" or \"i8\" expected, got '{}'", kind);
  Matrix rows = a.contiguous(DType::f64);
  const double* from = rows.view<double>().data;
  std::string bytes(reinterpret_cast<const char*>(from), rows.size() * sizeof *from);
  for (Int i = 0; kind == "i8" && i < rows.size(); ++i) {
    require(std::abs(from[i]) < 0x1p63, "files.bytes: whole numbers of 64 bits expected, got {}", from[i]);
    auto whole = static_cast<std::int64_t>(from[i]);
    std::memcpy(bytes.data() + i * sizeof whole, &whole, sizeof whole);
  }
  return bytes;
}

}  // namespace

void bind_files(sol::table files) {
  files["sync"] = &sync;
  files["link"] = [](const std::string& path, const std::string& second) {
    access::writing(path);
    access::writing(second);
    return link(path.c_str(), second.c_str()) == 0;
  };
  files["is_replaceable"] = &is_replaceable;
  files["is_file"] = &is_file;
  files["is_folder"] = &is_folder;
  files["real_path"] = &real_path;
  files["same_file"] = &same_file;
  files["obstacle"] = &obstacle;
  files["copy_mode"] = &copy_mode;
  files["make_folder"] = [](const std::string& path) {
    access::writing(path);
    std::error_code error;
    fs::create_directories(path, error);
    require(!error && fs::is_directory(path), "{}: the folder cannot be made ({})", path,
            error ? error.message() : "it is a file");
  };
  files["lock"] = &lock;
  files["unlock"] = &unlock;
  files["bytes"] = &bytes_of;
  files["several_hosts"] = [] { return !comm::host_of(0).empty(); };
  files["fetch"] = &fetch;
  files["forget"] = &forget_fetched;
  files["require_same"] = &require_same_file;
  files["text_of_root"] = [](std::string text) {  // rank 0's, on every rank
    comm::bcast(text, 0);
    return text;
  };
  files["checksum"] = [](const std::string& text) {
    Checksum sum;
    sum.add(text.data(), text.size());
    return Checksum::text(sum.value());
  };
}

}  // namespace kbcd::lua
