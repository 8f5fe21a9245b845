// The C stack. Functions that call Lua again (a kernel, Matrix:apply, a coroutine within a coroutine …) nest on it, and
// Lua sets no limit to that.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// An Error while there is still room for it; `depth` calls of `what` are within each other.
void require_c_stack(int depth, const char* what);

// The functions of Lua's library that call Lua again check the stack, too (scripts/kbcd/support/nesting.lua).
void guard_nesting(sol::state_view lua);

}  // namespace kbcd::lua
