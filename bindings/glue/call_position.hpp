// Where in the bytecode of a Lua function a call stands, which distinguishes the calls of one line.
#pragma once

#include <optional>

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// The instruction, counted from the function's first, behind the call that is under way in the Lua function of a frame
// (of lua_getstack); the same in every process, interpreted or compiled. Nothing where this LuaJIT is built otherwise
// than expected, which is tried out once.
std::optional<int> call_position(lua_State* L, lua_Debug& frame);

}  // namespace kbcd::lua
