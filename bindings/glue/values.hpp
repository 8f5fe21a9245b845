// Converts between Lua values and those of modules/params: tables of options, and declarations of parameters.
#pragma once

#include "bindings/glue/def.hpp"
#include "modules/params/params.hpp"

namespace kbcd::lua {

// The named values of a table; `owner` begins the message where one is no number, text, true, false or list of these.
Values values_of(const std::string& owner, const sol::optional<sol::table>& table);
sol::object to_lua(sol::this_state L, const Value& value);
sol::table to_lua(sol::this_state L, const Values& values);

// A list of { name, help, kind, choices, most, default, required, instead_of }, as far as each is declared.
sol::table to_lua(sol::this_state L, const std::vector<Param>& declared);

// A list of { name, formula, params } of what declares its parameters: kernels or feature maps. more(entry, format)
// adds the fields that only one of them has.
template <class Format, class More>
sol::table to_lua(sol::this_state L, const std::vector<Format>& formats, More&& more) {
  sol::table list = sol::state_view(L).create_table();
  for (auto& format : formats) {
    sol::table entry = sol::state_view(L).create_table_with("name", format.name, "formula", format.formula, "params",
                                                            to_lua(L, format.params));
    more(entry, format);
    list.add(entry);
  }
  return list;
}

}  // namespace kbcd::lua
