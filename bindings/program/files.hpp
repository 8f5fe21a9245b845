// What the scripts that write files need beside Lua's own io and os.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

void bind_files(sol::table files);

}  // namespace kbcd::lua
