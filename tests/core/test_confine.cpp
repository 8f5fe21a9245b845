// core/confine: what code that has taken over a confined process can still do. Every attempt makes its system call
// itself, in a child that is confined, on a thread that was there before and on one that comes after.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/confine.hpp"

using namespace kbcd;
namespace fs = std::filesystem;

namespace {

struct Attempt {
  const char* name;
  std::function<long()> call;  // below 0, with errno, where it is refused
};

struct Folders {
  fs::path root = fs::temp_directory_path() / ("kbcd_confine_" + std::to_string(getpid())), in = root / "in",
           to = root / "to";
  Folders() {
    fs::create_directories(in);
    fs::create_directories(to);
    for (auto& file : {root / "secret", in / "data", to / "data"}) std::ofstream(file) << "text";
    fs::create_symlink(root / "secret", in / "link");
  }
  ~Folders() { fs::remove_all(root); }
  Folders(const Folders&) = delete;
};

int open_file(const fs::path& path, int flags) {
  return open(path.c_str(), flags, 0600);
}

std::vector<Attempt> escapes(const Folders& f, pid_t other) {
  static char buffer[64];
  static iovec local{buffer, sizeof buffer}, remote{buffer, sizeof buffer};
  fs::path root = f.root, in = f.in, to = f.to, secret = root / "secret";
  auto proc = "/proc/" + std::to_string(other);
  return {
      {"execve",
       [] {
         char* none[] = {nullptr};
         return long(execve("/bin/true", none, none));
       }},
      {"execveat",
       [] {
         char* none[] = {nullptr};
         return syscall(SYS_execveat, AT_FDCWD, "/bin/true", none, none, 0);
       }},
      {"fork", [] { return syscall(SYS_fork); }},
      {"vfork as clone", [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
      {"clone3",
       [] {
         char arguments[64] = {};
         return syscall(SYS_clone3, arguments, sizeof arguments);
       }},
      {"a namespace", [] { return long(unshare(CLONE_NEWUSER)); }},
      {"setns", [] { return syscall(SYS_setns, 0, 0); }},
      {"chroot", [] { return long(chroot("/")); }},
      {"mount", [] { return long(mount("none", "/mnt", "tmpfs", 0, nullptr)); }},
      {"ptrace of another", [=] { return ptrace(PTRACE_ATTACH, other, nullptr, nullptr); }},
      {"ptrace me", [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
      {"memory of another, read", [=] { return long(process_vm_readv(other, &local, 1, &remote, 1, 0)); }},
      {"memory of another, written", [=] { return long(process_vm_writev(other, &local, 1, &remote, 1, 0)); }},
      {"memory of another by /proc", [=] { return long(open_file(proc + "/mem", O_RDWR)); }},
      {"environment of another", [=] { return long(open_file(proc + "/environ", O_RDONLY)); }},
      {"own memory by /proc", [] { return long(open_file("/proc/self/mem", O_RDWR)); }},
      {"a thread's memory by /proc", [] { return long(open_file("/proc/thread-self/mem", O_RDWR)); }},
      {"files of another", [=] { return syscall(SYS_pidfd_open, other, 0); }},
      {"kill of another", [=] { return long(kill(other, SIGKILL)); }},
      {"kill of all", [] { return long(kill(-1, SIGUSR2)); }},
      {"a queued signal",
       [=] {
         siginfo_t info{};
         return syscall(SYS_rt_sigqueueinfo, other, SIGUSR2, &info);
       }},
      {"signals by a file's owner", [=] { return long(fcntl(STDIN_FILENO, F_SETOWN, other)); }},
      {"limits of another", [=] { return syscall(SYS_prlimit64, other, 7, nullptr, nullptr); }},
      {"cores of another",
       [=] {
         cpu_set_t one{};
         CPU_SET(0, &one);
         return long(sched_setaffinity(other, sizeof one, &one));
       }},
      {"a TCP socket", [] { return long(socket(AF_INET, SOCK_STREAM, 0)); }},
      {"a UDP socket", [] { return long(socket(AF_INET6, SOCK_DGRAM, 0)); }},
      {"a Unix socket", [] { return long(socket(AF_UNIX, SOCK_STREAM, 0)); }},
      {"a netlink socket", [] { return long(socket(AF_NETLINK, SOCK_RAW, 0)); }},
      {"connect",
       [] {
         sockaddr_in a{};
         return long(connect(0, reinterpret_cast<sockaddr*>(&a), sizeof a));
       }},
      {"bind",
       [] {
         sockaddr_in a{};
         return long(bind(0, reinterpret_cast<sockaddr*>(&a), sizeof a));
       }},
      {"listen", [] { return long(listen(0, 1)); }},
      {"accept", [] { return long(accept(0, nullptr, nullptr)); }},
      {"io_uring",
       [] {
         io_uring_params p{};
         return syscall(SYS_io_uring_setup, 4, &p);
       }},
      {"bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0); }},
      {"perf",
       [] {
         char a[128] = {};
         return syscall(SYS_perf_event_open, a, 0, -1, -1, 0);
       }},
      {"userfaultfd", [] { return syscall(SYS_userfaultfd, 0); }},
      {"keys", [] { return syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
      {"System V memory", [] { return long(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)); }},
      {"memory file", [] { return syscall(SYS_memfd_create, "x", 0); }},
      {"typing for the terminal",
       [] {
         char c = 'x';
         return long(ioctl(STDIN_FILENO, TIOCSTI, &c));
       }},
      {"memory written and executed",
       [] {
         void* p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return p == MAP_FAILED ? -1L : 1L;
       }},
      {"another filter's end", [] { return long(prctl(PR_SET_DUMPABLE, 1)); }},
      {"personality", [] { return syscall(SYS_personality, 0x0040000); }},
      {"a module of the kernel", [] { return syscall(SYS_finit_module, 0, "", 0); }},
      {"the secret", [=] { return long(open_file(secret, O_RDONLY)); }},
      {"the secret by ..", [=] { return long(open_file(in / "../secret", O_RDONLY)); }},
      {"the secret by a link", [=] { return long(open_file(in / "link", O_RDONLY)); }},
      {"passwords", [] { return long(open_file("/etc/passwd", O_RDONLY)); }},
      {"the system's settings", [] { return long(open_file("/sys/kernel/notes", O_RDONLY)); }},
      {"shared memory of others", [] { return long(open_file("/dev/shm/kbcd_confine", O_RDWR | O_CREAT)); }},
      {"a folder elsewhere", [=] { return long(open_file(root, O_RDONLY | O_DIRECTORY)); }},
      {"a file to read, written", [=] { return long(open_file(in / "data", O_WRONLY)); }},
      {"a file to read, truncated", [=] { return long(truncate((in / "data").c_str(), 0)); }},
      {"a file to read, truncated when opened", [=] { return long(open_file(in / "data", O_RDONLY | O_TRUNC)); }},
      {"a new file elsewhere", [=] { return long(open_file(root / "new", O_WRONLY | O_CREAT)); }},
      {"a new folder elsewhere", [=] { return long(mkdir((root / "folder").c_str(), 0700)); }},
      {"a link to the secret", [=] { return long(symlink(secret.c_str(), (to / "mine").c_str())); }},
      {"a hard link to the secret", [=] { return long(link(secret.c_str(), (to / "mine").c_str())); }},
      {"the secret, renamed", [=] { return long(rename(secret.c_str(), (to / "mine").c_str())); }},
      {"the secret, removed", [=] { return long(unlink(secret.c_str())); }},
      {"the mode of the secret", [=] { return long(chmod(secret.c_str(), 0777)); }},
      {"the owner of the secret", [=] { return long(chown(secret.c_str(), 1, 1)); }},
      {"a date of the secret", [=] { return long(utimensat(AT_FDCWD, secret.c_str(), nullptr, 0)); }},
      {"an attribute of the secret", [=] { return syscall(SYS_setxattr, secret.c_str(), "user.x", "x", 1, 0); }},
      {"set-user-id", [=] { return long(fchmod(open_file(to / "data", O_RDWR), 04755)); }},
      {"the mode of a file to read", [=] { return long(fchmod(open_file(in / "data", O_RDONLY), 0777)); }},
      {"a fifo", [=] { return long(mkfifo((to / "fifo").c_str(), 0600)); }},
      {"a device", [=] { return long(mknod((to / "null").c_str(), S_IFCHR | 0600, 0x103)); }},
  };
}

// How many of the attempts succeeded; each is named.
int escaped(const std::vector<Attempt>& attempts, const char* where) {
  int count = 0;
  for (auto& attempt : attempts) {
    errno = 0;
    long result = attempt.call();
    bool refused = result < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EXDEV);
    if (refused) continue;
    ++count;
    std::fprintf(stderr, "escaped on %s: %s (%ld, %s)\n", where, attempt.name, result, std::strerror(errno));
  }
  return count;
}

template <class F>
int in_child(F f) {
  pid_t child = fork();
  if (child == 0) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(confined_process)

BOOST_AUTO_TEST_CASE(has_its_folders_alone_on_every_thread) {
  if (!confine::lacking().empty()) {
    BOOST_TEST_WARN(false, "skipped: this kernel does not have " + confine::lacking());
    return;
  }
  Folders f;
  pid_t other = fork();
  if (other == 0) {
    pause();
    _exit(0);
  }
  int count = in_child([&] {
    auto attempts = escapes(f, other);
    std::atomic<int> go{0}, found{0};
    std::thread before([&] {
      while (go == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      found += escaped(attempts, "a thread that was there before");
    });
    confine::enter({{f.in, confine::Use::read}, {f.to, confine::Use::write}});
    go = 1;
    before.join();
    found += escaped(attempts, "the main thread");
    std::thread after([&] { found += escaped(attempts, "a new thread"); });
    after.join();
    return found.load();
  });
  BOOST_TEST(count == 0);
  BOOST_TEST(kill(other, 0) == 0);  // it lives
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  std::string text;
  std::ifstream(f.root / "secret") >> text;
  BOOST_TEST(text == "text");
}

BOOST_AUTO_TEST_CASE(can_work) {
  if (!confine::lacking().empty()) return;
  Folders f;
  int wrong = in_child([&] {
    confine::enter({{f.in, confine::Use::read}, {f.to, confine::Use::write}});
    int wrong = 0;
    wrong += !std::ifstream(f.in / "data").good() + !std::ofstream(f.to / "new").good();
    wrong += rename((f.to / "new").c_str(), (f.to / "renamed").c_str()) != 0;
    wrong += link((f.to / "renamed").c_str(), (f.to / "second").c_str()) != 0;
    wrong += unlink((f.to / "renamed").c_str()) != 0;
    wrong += kill(getpid(), 0) != 0;
    // LuaJIT's way to compiled code.
    void* p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wrong += p == MAP_FAILED || mprotect(p, 4096, PROT_READ | PROT_EXEC) != 0;
    std::thread([&] { wrong += std::ifstream("/etc/passwd").good(); }).join();
    return wrong;
  });
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_thread_that_blocks_the_signal_is_an_error) {
  if (!confine::lacking().empty()) return;
  BOOST_TEST(in_child([] {
               sigset_t every;
               sigfillset(&every);
               pthread_sigmask(SIG_SETMASK, &every, nullptr);
               std::thread deaf([] { pause(); });
               try {
                 confine::enter({});
               } catch (const std::exception& e) {
                 _exit(std::strstr(e.what(), "blocks signal") ? 7 : 8);
               }
               return 9;
             }) == 7);
}

BOOST_AUTO_TEST_SUITE_END()
