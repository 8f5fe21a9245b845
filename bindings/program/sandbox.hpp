// kbcd --sandbox: a Lua state in which a script that is not trusted cannot run programs, load native code or bytecode,
// or access files outside the allowed folders (core/access). bindings/README.md says what that promises and what it
// does not.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// From now on; cannot be undone. The whole library is loaded first.
void enter_sandbox(sol::state_view lua);

}  // namespace kbcd::lua
