// Where the Lua script is that calls the other ranks.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// From now on comm's checks know the places in the scripts of this state.
void show_call_sites(lua_State* L);

}  // namespace kbcd::lua
