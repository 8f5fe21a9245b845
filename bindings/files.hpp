// What the scripts that write files need beside Lua's own io and os.
#pragma once

#include "bindings/lua.hpp"

namespace kbcd::lua {

void bind_files(sol::table system);

}  // namespace kbcd::lua
