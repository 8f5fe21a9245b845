// kbcd --sandbox: a Lua state in which a script that is not trusted cannot run programs, load native code or bytecode,
// access files outside the allowed folders, or change what the library stands on. bindings/README.md says what that
// promises. The functions of Lua that reach outside are guarded here, in C++; the script's own globals are made by
// scripts/kbcd/support/sandbox.lua; the boundary is the kernel's (core/confine).
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// From now on; cannot be undone. The whole library is loaded first. Returns the globals that the script must run with.
// All ranks call it.
sol::table enter_sandbox(sol::state_view lua);

}  // namespace kbcd::lua
