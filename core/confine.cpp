#include "core/confine.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <thread>

#include "core/error.hpp"
#include "core/syscall_filter.hpp"

namespace kbcd::confine {
namespace {

namespace fs = std::filesystem;

// As <linux/landlock.h> of newer kernels has them.
struct Ruleset {
  std::uint64_t files, ports, scopes;
};
constexpr std::uint64_t refer = 1 << 13, truncate = 1 << 14, device_ioctl = 1 << 15;  // since version 2, 3, 5
constexpr std::uint64_t bind_and_connect = 3;                                         // since version 4
constexpr std::uint64_t abstract_sockets_and_signals = 3;                             // since version 6
constexpr long needed_version = 3;  // before, a file that may be read alone could be truncated

constexpr std::uint64_t read_file = LANDLOCK_ACCESS_FS_READ_FILE, read = read_file | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t write_file = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t create =
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR;
constexpr std::uint64_t never = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                LANDLOCK_ACCESS_FS_REMOVE_DIR;

// Code that is loaded late (libgcc's unwinder, MPI's components), and MPI's messages; nothing of it can be executed as
// a program.
constexpr const char* libraries[] = {"/usr/lib", "/lib", "/lib64", "/usr/local/lib", "/usr/share/openmpi"};

long landlock_version() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

void add_rule(int rules, const std::string& path, std::uint64_t rights) {
  int descriptor = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status {};
  bool folder = fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = folder ? rights : rights & (read_file | write_file | truncate);
  rule.parent_fd = descriptor;
  long failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(descriptor);
  require(failed == 0, "--sandbox: Landlock does not take the rule for {} ({})", path, std::strerror(errno));
}

int make_rules(long version, const std::vector<Place>& places) {
  std::uint64_t write = write_file | create;
  if (version >= 2) write |= refer;
  if (version >= 3) write |= truncate;
  Ruleset handled{read | write | never | (version >= 5 ? device_ioctl : 0), version >= 4 ? bind_and_connect : 0,
                  version >= 6 ? abstract_sockets_and_signals : 0};
  std::size_t known = version >= 6 ? 24 : version >= 4 ? 16 : 8;  // bytes of it
  int rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, known, 0));
  require(rules >= 0, "--sandbox: Landlock does not take the rules ({})", std::strerror(errno));
  for (const char* folder : libraries) add_rule(rules, folder, read);
  add_rule(rules, "/dev/null", read | write_file);
  add_rule(rules, "/dev/urandom", read);
  for (auto& place : places)
    add_rule(rules, place.path,
             place.use == Use::write    ? read | write
             : place.use == Use::remove ? LANDLOCK_ACCESS_FS_REMOVE_FILE
                                        : read);
  return rules;
}

// Landlock confines the thread that asks for it. MPI, OpenMP and we ourselves have started some: each of them gets a
// signal, and asks for it in the handler.
std::atomic<int> shared_rules{-1}, confined{0}, refused{0};

bool confine_this_thread() {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_landlock_restrict_self, shared_rules.load(), 0) == 0;
}

void on_signal(int) {
  int before = errno;
  (confine_this_thread() ? confined : refused).fetch_add(1);
  errno = before;
}

std::set<int> threads() {
  std::set<int> all;
  for (auto& entry : fs::directory_iterator("/proc/self/task")) all.insert(std::stoi(entry.path().filename().string()));
  return all;
}

void confine_thread(int thread) {
  int before = confined;
  if (syscall(SYS_tgkill, getpid(), thread, signal_of_threads()) != 0) return;  // it has ended
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (confined == before && refused == 0) {
    if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) return;
    require(std::chrono::steady_clock::now() < end,
            "--sandbox: thread {} of the process (of MPI, perhaps) blocks signal {}, so that it cannot be confined",
            thread, signal_of_threads());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  require(refused == 0, "--sandbox: thread {} of the process cannot be confined by Landlock", thread);
}

void confine_all_threads(int rules) {
  struct sigaction action {
  }, before{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(signal_of_threads(), &action, &before);
  shared_rules = rules;
  // The threads first: once this one is confined, it can no longer look at /proc. Until a list has none that is new.
  std::set<int> done{static_cast<int>(syscall(SYS_gettid))};
  for (bool news = true; news;) {
    news = false;
    for (int thread : threads()) {
      if (!done.insert(thread).second) continue;
      confine_thread(thread);
      news = true;
    }
  }
  require(confine_this_thread(), "--sandbox: Landlock refuses ({})", std::strerror(errno));
  sigaction(signal_of_threads(), &before, nullptr);
  close(rules);
}

}  // namespace

int signal_of_threads() {
  return SIGRTMIN + 7;
}

std::string lacking() {
  const char* without = std::getenv("KBCD_SANDBOX_WITHOUT");
  std::string_view pretended = without ? without : "";
  std::string list;
  long version = landlock_version();
  if (version < needed_version || pretended == "landlock")
    list = fmt::format("Landlock (version {} or later, Linux 6.2; found: {})", needed_version,
                       version < 1 ? "none" : fmt::format("version {}", version));
  if (!syscall_filter::available() || pretended == "seccomp")
    list += fmt::format("{}filters of system calls (seccomp)", list.empty() ? "" : " and ");
  return list;
}

void enter(const std::vector<Place>& places) {
  if (long version = landlock_version(); version >= 1) confine_all_threads(make_rules(version, places));
  if (syscall_filter::available()) syscall_filter::load();
}

}  // namespace kbcd::confine
