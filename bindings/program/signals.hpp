// SIGINT and SIGTERM, of which each kind of run makes something else.
//
// A script is stopped where it is: an error with its line, or, where it computes in C++ or in compiled Lua, a message
// that tells its last call of the other ranks. A run with a checkpoint notes the signal and ends after the block. The
// REPL stops its line and goes on. A second signal always ends the program at once.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// As long as it lives, signals stop the script of a state.
class SignalsStopScript {
 public:
  explicit SignalsStopScript(lua_State* L);
  ~SignalsStopScript();
  SignalsStopScript(const SignalsStopScript&) = delete;
};

void bind_signals(sol::table signals);

}  // namespace kbcd::lua
