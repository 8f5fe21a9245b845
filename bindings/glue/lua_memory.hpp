// A limit on what the tables and strings of a script may take: an error rather than a machine without memory.
#pragma once

#include <string>

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

// Twice the memory budget: with the default one, this rank's share of what was free at the start.
void limit_memory(lua_State* L);
std::string out_of_memory_message();

}  // namespace kbcd::lua
