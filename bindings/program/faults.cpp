#include "bindings/program/faults.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

#include "core/comm.hpp"

namespace kbcd {
namespace {

struct Kind {
  int signal;
  const char* name;
};
constexpr Kind kinds[] = {{SIGSEGV, "a memory fault (SIGSEGV)"},
                          {SIGBUS, "a memory fault (SIGBUS)"},
                          {SIGFPE, "an arithmetic fault (SIGFPE)"},
                          {SIGILL, "an instruction that this processor does not have (SIGILL)"},
                          {SIGABRT, "a library that has given up (SIGABRT)"}};

char who[64];  // begins the message
const char* lowest_of_stack = nullptr;

void write_text(const char* text) {
  [[maybe_unused]] auto written = write(STDERR_FILENO, text, std::strlen(text));
}

// Only what may be called in any state of the program: no memory is allocated, no lock waited for.
void end(int signal, siginfo_t* info, void*) {
  constexpr std::ptrdiff_t near = 1 << 20;
  auto* at = static_cast<const char*>(info->si_addr);
  bool stack = signal == SIGSEGV && lowest_of_stack && at > lowest_of_stack - near && at < lowest_of_stack + near;
  write_text(who);
  if (stack) {
    write_text("the C stack is full (ulimit -s); does a function of the script call itself without end?\n");
  } else {
    const Kind* kind = std::find_if(kinds, std::end(kinds), [&](const Kind& k) { return k.signal == signal; });
    write_text("ended by ");
    write_text(kind != std::end(kinds) ? kind->name : "a signal");
    write_text("; this is a bug in kbcd or in a library that it uses, please report it\n");
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void find_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) lowest_of_stack = static_cast<const char*>(lowest);
  pthread_attr_destroy(&attributes);
}

}  // namespace

void end_at_faults() {
#ifndef __SANITIZE_ADDRESS__    // whose own report says more
  static char stack[64 << 10];  // the handler's own: the fault may be that the stack is full
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  find_stack();
  std::strncpy(who, comm::who().c_str(), sizeof who - 1);
  struct sigaction action {};
  action.sa_sigaction = end;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
  for (const Kind& kind : kinds) sigaction(kind.signal, &action, nullptr);
#endif
}

}  // namespace kbcd
