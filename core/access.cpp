#include "core/access.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/error.hpp"

namespace kbcd::access {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;  // resolved
  bool write;
};

std::vector<Folder> folders;
bool is_restricted = false;

// A name in a folder that exists, without following the name if it is a link; or nothing.
fs::path resolved_name(const std::string& path) {
  std::error_code error;
  if (path.empty() || path.find('\0') != path.npos) return {};
  fs::path whole = fs::absolute(path, error), name = whole.filename();
  if (error || name.empty() || name == "." || name == "..") return {};
  fs::path folder = fs::canonical(whole.parent_path(), error);
  return error ? fs::path() : folder / name;
}

// The file that a path leads to, or nothing. The file may be missing if its folder exists; a dangling link is refused.
fs::path resolved(const std::string& path) {
  std::error_code error;
  if (path.empty() || path.find('\0') != path.npos) return {};
  fs::path whole = fs::absolute(path, error);
  if (error) return {};
  if (fs::exists(fs::symlink_status(whole, error))) {
    fs::path found = fs::canonical(whole, error);
    return error ? fs::path() : found;
  }
  return resolved_name(path);
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  auto [end, other] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

void check(const std::string& path, const fs::path& place, bool write) {
  if (!is_restricted) return;
  for (auto& folder : folders)
    if (!place.empty() && lies_in(place, folder.path) && (folder.write || !write)) return;
  std::string readable, writable;
  for (auto& folder : folders) {
    auto& list = folder.write ? writable : readable;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", folder.path.string());
  }
  fail("{}: the sandbox does not let it be {}; it may read in {} and write in {} (--allow FOLDER or --allow FOLDER:rw)",
       path.substr(0, path.find('\0')), write ? "written" : "read", readable.empty() ? "no folder" : readable,
       writable.empty() ? "no folder" : writable);
}

void add_rule(int rules, const std::string& folder, std::uint64_t rights) {
  int descriptor = open(folder.c_str(), O_PATH | O_CLOEXEC);
  if (descriptor < 0) return;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = descriptor;
  syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(descriptor);
}

// Restricts this thread and the threads that it starts, as far as the kernel supports it. System folders that libraries
// and MPI need stay readable; nothing can be executed.
void restrict_by_kernel() {
  long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return;
  constexpr std::uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr std::uint64_t since_2 = 1 << 13, since_3 = 1 << 14;  // a rename into another folder; truncate
  std::uint64_t write = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG;
  if (version >= 2) write |= since_2;
  if (version >= 3) write |= since_3;
  constexpr std::uint64_t never = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                  LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                  LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                  LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR;
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = read | write | never;
  int rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled.handled_access_fs, 0));
  if (rules < 0) return;
  for (const char* folder : {"/usr", "/lib", "/lib64", "/etc", "/proc", "/sys"}) add_rule(rules, folder, read);
  add_rule(rules, "/dev", read | LANDLOCK_ACCESS_FS_WRITE_FILE);
  add_rule(rules, "/dev/shm", read | write);
  for (auto& folder : folders) add_rule(rules, folder.path, folder.write ? read | write : read);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) syscall(SYS_landlock_restrict_self, rules, 0);
  close(rules);
}

}  // namespace

void allow(const std::string& folder, bool write) {
  std::error_code error;
  fs::path place = fs::canonical(folder, error);
  require(!error && fs::is_directory(place, error), "--allow {}: a folder that is there expected", folder);
  folders.push_back({place, write});
}

void restrict() {
  if (is_restricted) return;
  is_restricted = true;
  restrict_by_kernel();
}

void reading(const std::string& path) {
  check(path, resolved(path), false);
}

void writing(const std::string& path) {
  check(path, resolved(path), true);
}

void replacing(const std::string& path) {
  check(path, resolved_name(path), true);
}

}  // namespace kbcd::access
