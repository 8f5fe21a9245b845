#include "core/syscall_filter.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "core/error.hpp"

#ifndef PR_SET_VMA  // headers before Linux 5.17
#define PR_SET_VMA 0x53564d41
#endif

namespace kbcd::syscall_filter {
namespace {

// Without conditions. Names that this machine's kernel does not have are skipped.
constexpr const char* allowed[] = {
    // files: Landlock decides which can be opened, created, removed and renamed
    "open", "openat", "openat2", "creat", "close", "close_range", "read", "write", "readv", "writev", "pread64",
    "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "lseek", "stat", "lstat", "fstat", "newfstatat", "statx",
    "statfs", "fstatfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents",
    "getdents64", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "link", "linkat",
    "ftruncate", "truncate", "fallocate", "fadvise64", "fsync", "fdatasync", "sync_file_range", "flock", "dup", "dup2",
    "dup3", "sendfile", "copy_file_range", "umask",
    // memory; mmap and mprotect are below
    "brk", "munmap", "mremap", "madvise", "mincore", "msync", "membarrier", "get_mempolicy",
    // threads and waiting
    "futex", "futex_waitv", "set_robust_list", "rseq", "set_tid_address", "gettid", "getpid", "getppid", "sched_yield",
    "sched_getaffinity", "getcpu", "exit", "exit_group", "poll", "ppoll", "select", "pselect6", "epoll_create1",
    "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "pipe", "pipe2", "nanosleep", "clock_nanosleep", "wait4",
    "restart_syscall",
    // signals of this process
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "sigaltstack", "alarm",
    "pause",
    // time and what the system is
    "clock_gettime", "clock_getres", "gettimeofday", "time", "times", "getrusage", "getrlimit", "sysinfo", "uname",
    "getrandom", "getuid", "geteuid", "getgid", "getegid",
    // sockets that MPI has opened
    "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "getsockname", "getpeername", "getsockopt"};

struct Filter {
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  ~Filter() { seccomp_release(context); }

  void check(int failure) {
    require(failure == 0, "--sandbox: the filter of system calls cannot be set ({})", std::strerror(-failure));
  }
  void allow(const char* name, std::initializer_list<scmp_arg_cmp> conditions = {},
             std::uint32_t action = SCMP_ACT_ALLOW) {
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR || number < 0) return;
    check(
        seccomp_rule_add_array(context, action, number, static_cast<unsigned>(conditions.size()), conditions.begin()));
  }
};

scmp_arg_cmp has_bits(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// Of a call's command, in an argument of 32 bits.
scmp_arg_cmp command(unsigned argument, std::uint64_t value) {
  return has_bits(argument, 0xFFFFFFFF, value);
}

void allow_with_conditions(Filter& filter) {
  for (const char* name : {"mmap", "mprotect"})  // never writable and executable at once
    for (int protection : {0, PROT_WRITE, PROT_EXEC})
      filter.allow(name, {has_bits(2, PROT_WRITE | PROT_EXEC, protection)});

  // Threads alone. The kernel keeps the arguments of clone3 in memory, where a filter cannot look: without it, the C
  // library uses clone.
  constexpr std::uint64_t needed = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  constexpr std::uint64_t refused = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                    CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE | CLONE_VFORK;
  filter.allow("clone", {has_bits(0, needed | refused, needed)});
  filter.allow("clone3", {}, SCMP_ACT_ERRNO(ENOSYS));

  auto self = static_cast<std::uint64_t>(getpid());
  for (const char* name : {"kill", "tgkill"}) filter.allow(name, {command(0, self)});
  for (int what : {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA}) filter.allow("prctl", {command(0, what)});
  for (const char* name : {"prlimit64", "sched_setaffinity"}) filter.allow(name, {command(0, 0)});  // of this process
  for (unsigned long what : {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO}) filter.allow("ioctl", {command(1, what)});
  for (int what : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_DUPFD, F_DUPFD_CLOEXEC})
    filter.allow("fcntl", {command(1, what)});
}

}  // namespace

bool available() {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 && seccomp_api_get() >= 2;  // 2: for all threads at once
}

void load() {
  Filter filter;
  require(filter.context != nullptr, "--sandbox: the filter of system calls cannot be made");
  filter.check(seccomp_attr_set(filter.context, SCMP_FLTATR_CTL_NNP, 1));
  filter.check(seccomp_attr_set(filter.context, SCMP_FLTATR_CTL_TSYNC, 1));
  seccomp_attr_set(filter.context, SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a search tree; only for speed
  for (const char* name : allowed) filter.allow(name);
  allow_with_conditions(filter);
  filter.check(seccomp_load(filter.context));
}

}  // namespace kbcd::syscall_filter
