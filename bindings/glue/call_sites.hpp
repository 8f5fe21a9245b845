// Finds the place of the Lua script that makes a collective call.
#pragma once

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// From now on, the checks of comm use the places of the scripts in this state.
void show_call_sites(lua_State* L);

}  // namespace kbcd::lua
