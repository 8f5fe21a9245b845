// SIGINT and SIGTERM: what they do depends on the kind of run.
//
// A script stops where it is: an error with its line or, if it computes in C++ or in compiled Lua, a message with its
// last collective call. A run with a checkpoint records the signal and ends after the block. The REPL stops the current
// line and continues. A second signal always ends the program at once.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// While it lives, signals stop the script of a state.
class SignalsStopScript {
 public:
  explicit SignalsStopScript(lua_State* L);
  ~SignalsStopScript();
  SignalsStopScript(const SignalsStopScript&) = delete;
};

void bind_signals(sol::table signals);

}  // namespace kbcd::lua
