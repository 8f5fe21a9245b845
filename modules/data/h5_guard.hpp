// A damaged file without checksums can lead the HDF5 library to addresses where nothing is. A guarded call turns that
// crash into an error; what HDF5 had open is then left alone rather than closed.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <string>

#include "core/error.hpp"

namespace kbcd::h5 {

inline int crashes = 0;  // guarded calls that crashed so far

// Catches memory faults of this thread for its life: they go to `place`.
class Guard {
 public:
  Guard() {
    static char stack[64 << 10];  // of its own: the fault may be that the stack is full
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, &stack_before_);
    thread_ = pthread_self();
    struct sigaction action {};
    action.sa_handler = jump;
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
  static void jump(int signal) {
    if (pthread_equal(pthread_self(), thread_)) siglongjmp(place, 1);
    std::signal(signal, SIG_DFL);  // a fault of another thread: the same instruction fails again, and the program ends
  }
  static constexpr int signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
  static inline pthread_t thread_;
  struct sigaction before_[3];
  stack_t stack_before_;
};

// Ends the program if a fault left malloc's lock held: whatever allocates next would wait for ever.
inline void require_malloc() {
  constexpr std::size_t large = 64 << 10;  // small blocks need no lock
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    static constexpr char text[] =
        "kbcd: ended: the HDF5 library crashed while it allocated memory; a file is damaged\n";
    [[maybe_unused]] auto written = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
  };
  sigaction(SIGALRM, &action, &before);
  alarm(2);
  void* volatile block = std::malloc(large);
  std::free(block);
  alarm(0);
  sigaction(SIGALRM, &before, nullptr);
}

// The result of call(), which must do nothing but one call of HDF5.
template <class F>
auto guarded(const std::string& where, const F& call) {
  Guard guard;
  if (sigsetjmp(Guard::place, 1) != 0) {
    require_malloc();
    ++crashes;
    fail("{}: damaged (the HDF5 library cannot cope with it)", where);
  }
  return call();
}

}  // namespace kbcd::h5
