// kbcd --sandbox: a Lua state in which a script of somebody else cannot run programs, load native code or bytecode, or
// touch files outside the folders that were allowed (core/access). README.md, "Scripts of others", says what that
// promises and what it does not.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// From now on and for good; everything of the library is loaded before.
void enter_sandbox(sol::state_view lua);

}  // namespace kbcd::lua
