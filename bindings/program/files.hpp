// Functions for scripts that write files, in addition to Lua's io and os.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

void bind_files(sol::table files);

}  // namespace kbcd::lua
