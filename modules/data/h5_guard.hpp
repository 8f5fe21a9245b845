// A damaged file without checksums can lead the HDF5 library to addresses where nothing is. A guarded call turns that
// crash into an error; what HDF5 had open is then left alone rather than closed.
#pragma once

#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <string>

#include "core/error.hpp"

namespace kbcd::h5 {

inline int crashes = 0;  // guarded calls that crashed so far

// Catches memory faults for its life: they go to `place`.
class Guard {
 public:
  Guard() {
    static char stack[64 << 10];  // of its own: the fault may be that the stack is full
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, &stack_before_);
    struct sigaction action {};
    action.sa_handler = [](int) {
      alarm(5);  // in case the fault has left a lock of malloc behind: then the process ends instead of waiting for it
      siglongjmp(place, 1);
    };
    action.sa_flags = SA_ONSTACK;
    for (int i = 0; i < 3; ++i) sigaction(signals[i], &action, &before_[i]);
  }
  ~Guard() {
    for (int i = 0; i < 3; ++i) sigaction(signals[i], &before_[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
  }
  Guard(const Guard&) = delete;

  static inline sigjmp_buf place;

 private:
  static constexpr int signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
  struct sigaction before_[3];
  stack_t stack_before_;
};

// The result of call(), which must do nothing but one call of HDF5.
template <class F>
auto guarded(const std::string& where, const F& call) {
  Guard guard;
  if (sigsetjmp(Guard::place, 1) != 0) {
    ++crashes;
    std::free(std::malloc(40000));  // large enough to need that lock
    alarm(0);
    fail("{}: damaged (the HDF5 library cannot cope with it)", where);
  }
  return call();
}

}  // namespace kbcd::h5
