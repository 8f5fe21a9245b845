// SIGINT and SIGTERM: what they do depends on the kind of run.
//
// A script stops where it is: an error with its line or, if it computes in C++ or in compiled Lua, a message with its
// last collective call. A run with a checkpoint records the signal and ends after the block. The REPL stops the current
// line and continues. A second signal always ends the program at once.
#pragma once

#include <csignal>
#include <iterator>

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// While it lives, signals stop the script of a state.
class SignalsStopScript {
 public:
  explicit SignalsStopScript(lua_State* L);
  ~SignalsStopScript();
  SignalsStopScript(const SignalsStopScript&) = delete;
};

// Made before MPI starts. From begin() on, a fault (SIGSEGV and the like) ends the process at once with a line that
// says so: MPI's own handlers print a backtrace, for which they may wait for ever for a lock that the faulty code
// holds. What was handled before MPI (by a sanitizer) stays so.
class FaultsEndProcess {
 public:
  FaultsEndProcess();
  void begin(int rank);

 private:
  static constexpr int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  bool ours_[std::size(faults)];
};

void bind_signals(sol::table signals);

}  // namespace kbcd::lua
