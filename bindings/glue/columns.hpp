// How a script names a column of a file: by its name in the header, or by its number.
#pragma once

#include "bindings/glue/def.hpp"
#include "modules/data/loader.hpp"

namespace kbcd::lua {

// `what` begins the message: "load: option label".
inline ColumnName column_name(const char* what, const sol::object& value) {
  if (value.is<std::string>() && value.get_type() == sol::type::string) return value.as<std::string>();
  lua_State* L = value.lua_state();
  value.push();
  bool whole = Argument<Int>::check(L, lua_gettop(L));
  std::string got = describe(L, -1);
  lua_pop(L, 1);
  require(whole, "{}: the name or number of a column expected, got {}", what, got);
  return value.as<Int>() - 1;
}

}  // namespace kbcd::lua
