#include "bindings/glue/values.hpp"

namespace kbcd::lua {
namespace {

Value value_of(const std::string& what, const sol::object& value, bool in_list = false) {
  switch (value.get_type()) {
    case sol::type::boolean:
      return value.as<bool>();
    case sol::type::number:
      return value.as<double>();
    case sol::type::string:
      return value.as<std::string>();
    default:
      break;
  }
  if (value.get_type() == sol::type::table && !in_list) {
    std::vector<Value> list;
    auto table = value.as<sol::table>();
    for (std::size_t i = 1; i <= table.size(); ++i) list.push_back(value_of(what, table.raw_get<sol::object>(i), true));
    return list;
  }
  value.push();
  std::string got = describe(value.lua_state(), -1);
  lua_pop(value.lua_state(), 1);
  fail("{}: a number, a text, true or false{} expected, got {}", what, in_list ? "" : ", or a list of these", got);
}

}  // namespace

Values values_of(const std::string& owner, const sol::optional<sol::table>& table) {
  Values values;
  if (!table) return values;
  for (auto& [key, value] : *table) {
    require(key.get_type() == sol::type::string,
            "{}: named options such as {{name = 5}} expected, got one without a name", owner);
    values.insert_or_assign(key.as<std::string>(), value_of(owner + ": option " + key.as<std::string>(), value));
  }
  return values;
}

sol::object to_lua(sol::this_state L, const Value& value) {
  auto* list = std::get_if<std::vector<Value>>(&value);
  if (!list)
    return std::visit(
        [&]<class T>(const T& x) -> sol::object {
          if constexpr (std::is_same_v<T, std::vector<Value>>)
            return sol::lua_nil;
          else
            return sol::make_object(L, x);
        },
        static_cast<const std::variant<bool, double, std::string, std::vector<Value>>&>(value));
  sol::table table = sol::state_view(L).create_table();
  for (auto& one : *list) table.add(to_lua(L, one));
  return table;
}

sol::table to_lua(sol::this_state L, const Values& values) {
  sol::table table = sol::state_view(L).create_table();
  for (auto& [key, value] : values) table[key] = to_lua(L, value);
  return table;
}

sol::table to_lua(sol::this_state L, const std::vector<Param>& declared) {
  sol::table list = sol::state_view(L).create_table();
  for (auto& param : declared) {
    sol::table entry = sol::state_view(L).create_table_with("name", param.name, "help", param.help, "kind",
                                                            name(param.kind), "expected", expected(param));
    if (!param.choices.empty()) entry["choices"] = to_lua(L, Value(param.choices));
    if (param.most) entry["most"] = *param.most;
    if (param.otherwise) entry["default"] = to_lua(L, *param.otherwise);
    if (param.required) entry["required"] = true;
    if (param.instead_of) entry["instead_of"] = *param.instead_of;
    list.add(entry);
  }
  return list;
}

}  // namespace kbcd::lua
