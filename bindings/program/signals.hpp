// SIGINT, SIGTERM and the signals of a terminal: what they do depends on the kind of run.
//
// A script stops where it is: an error with its line or, if it computes in C++ or in compiled Lua, a message with its
// last collective call. A run with a checkpoint records the signal and ends after the block. A second signal ends the
// program at once. A session at the prompt stops the current line, or clears the typed one, and continues, however
// often.
//
// Handlers run on the main thread alone; they set flags, wake a poll() and set Lua's hook, nothing else.
#pragma once

#include <csignal>

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// While it lives, signals stop the script of a state.
class SignalsStopScript {
 public:
  explicit SignalsStopScript(lua_State* L);
  ~SignalsStopScript();
  SignalsStopScript(const SignalsStopScript&) = delete;
};

// While it lives, these signals are only recorded, and wake a poll().
class SignalsRecorded {
 public:
  explicit SignalsRecorded(std::initializer_list<int> signals);
  ~SignalsRecorded();
  SignalsRecorded(const SignalsRecorded&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};
bool take_signal(int signal);  // whether it was recorded since the last call
bool take_stop();              // whether Lua was interrupted since the last call
int wake_descriptor();         // readable after a recorded signal or wake()
void wake();
void clear_wake();

void bind_signals(sol::table signals);

}  // namespace kbcd::lua
