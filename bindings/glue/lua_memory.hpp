// A limit on the memory of the tables and strings of a script: an error before the machine runs out of memory.
#pragma once

#include <string>

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// Twice the memory budget: with the default one, this rank's share of what was free at the start.
void limit_memory(lua_State* L);
std::string out_of_memory_message();

}  // namespace kbcd::lua
