#include "bindings/glue/def.hpp"

#include <algorithm>
#include <deque>

#include "bindings/glue/c_stack.hpp"

namespace kbcd::lua {
namespace {

std::uint64_t seed_of_program = 1;

lua_State *running = nullptr, *main_lua = nullptr;
int nested = 0;            // calls of our functions that are within each other now
double in_primitives = 0;  // seconds

constexpr const char* docs_key = "kbcd.docs";

using Function = std::function<int(lua_State*)>;
struct Timed {
  Function f;
  timers::Entry* timer;
};

timers::Entry* timer_of_new_functions = nullptr;

int call(lua_State* L, Timed& timed) {
  try {
    RunningState here(L, timed.timer);
    return timed.f(L);
  } catch (const std::bad_alloc&) {
    luaL_where(L, 1);
    lua_pushstring(L, "out of memory");
  } catch (const std::exception& e) {
    luaL_where(L, 1);
    if (std::string_view(e.what()).starts_with(lua_tostring(L, -1))) {  // an error of a callback on the same line
      lua_pop(L, 1);
      lua_pushliteral(L, "");
    }
    lua_pushstring(L, e.what());
  }
  lua_concat(L, 2);
  return lua_error(L);  // outside the catch block, so that the exception is already destroyed
}

int call_function(lua_State* L) {
  return call(L, *static_cast<Timed*>(lua_touserdata(L, lua_upvalueindex(1))));
}

int call_collected_function(lua_State* L) {
  return call(L, sol::stack::get<sol::user<Timed>>(L, lua_upvalueindex(1)));
}

}  // namespace

TimedAs::TimedAs(const char* timer) : before_(std::exchange(timer_of_new_functions, &timers::entry(timer))) {}

TimedAs::~TimedAs() {
  timer_of_new_functions = before_;
}

RunningState::RunningState(lua_State* L, timers::Entry* timer)
    : before_(running), timer_(timer), start_(before_ && !timer ? 0 : now()) {
  require_c_stack(nested, "calls of kbcd's functions");
  running = L;
  ++nested;
  if (timer_) work_ = timers::begin();
}

RunningState::~RunningState() {
  --nested;
  running = before_;
  if (before_ && !timer_) return;
  double seconds = now() - start_;
  if (!before_) in_primitives += seconds;
  if (timer_) timers::end(*timer_, seconds, work_);
}

double seconds_in_primitives() {
  return in_primitives;
}

lua_State* running_state() {
  return running;
}

lua_State* main_thread() {
  return main_lua;
}

void set_main_thread(lua_State* L) {
  main_lua = L;
}

Callback::Callback(const sol::protected_function& f) {
  f.push(f.lua_state());
  place_ = std::shared_ptr<const int>(new int(luaL_ref(f.lua_state(), LUA_REGISTRYINDEX)), [](const int* place) {
    luaL_unref(main_lua, LUA_REGISTRYINDEX, *place);
    delete place;
  });
}

std::string error_text(lua_State* L, int index) {
  std::size_t length = 0;
  if (lua_type(L, index) != LUA_TSTRING) return fmt::format("(an error object that is a {})", luaL_typename(L, index));
  const char* text = lua_tolstring(L, index, &length);
  return {text, length};
}

std::string describe(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNONE:
      return "nothing";
    case LUA_TNUMBER:
      return fmt::format("{}", lua_tonumber(L, index));
    case LUA_TSTRING:
      return fmt::format("the string '{}'", std::string_view(lua_tostring(L, index)).substr(0, 40));
    case LUA_TUSERDATA: {
      std::string name = "userdata";
      if (luaL_getmetafield(L, index, "__name")) {
        if (lua_type(L, -1) == LUA_TSTRING) name = lua_tostring(L, -1);  // "sol.kbcd::Matrix" and the like
        lua_pop(L, 1);
      }
      auto start = name.rfind("::");  // also of "std::shared_ptr<kbcd::Block>"
      start = start == name.npos ? 0 : start + 2;
      auto end =
          std::find_if(name.begin() + start, name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_'; });
      name = std::string(name.begin() + start, end);
      if (name == "BlockT" || name == "SelectorT") return "transposed " + name.substr(0, name.size() - 1);
      return name;
    }
  }
  return luaL_typename(L, index);
}

Signature::Signature(std::string_view heading) {
  auto open = heading.find_first_of("({");
  name = heading.substr(0, open);
  auto dot = name.find_last_of(".:");
  key = dot == name.npos ? name : name.substr(dot + 1);
  if (dot != name.npos && name[dot] == ':') args.push_back("self");
  if (open != heading.npos && heading[open] == '{') {
    table = heading.substr(open);
    return;
  }
  std::string arg;
  for (char c : heading.substr(std::min(open, heading.size()))) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      arg += c;
    } else if (!arg.empty()) {
      args.push_back(std::exchange(arg, ""));
    }
    if (c == ')') break;
  }
}

void bad_argument(lua_State* L, const Signature& signature, int index, const std::string& expected) {
  bool method = !signature.args.empty() && signature.args[0] == "self";
  if (method && index == 1)
    fail("{}: {} expected before the colon, got {} (write object:{}(…))", signature.name, expected, describe(L, 1),
         signature.key);
  if (!signature.table.empty())
    fail("{}: a table {} expected, got {}", signature.name, signature.table, describe(L, index));
  int number = method ? index - 1 : index;
  std::string name = index <= static_cast<int>(signature.args.size()) ? " (" + signature.args[index - 1] + ")" : "";
  fail("{}: argument {}{}: {} expected, got {}", signature.name, number, name, expected, describe(L, index));
}

void too_many_arguments(const Signature& signature, int expected, int got) {
  int self = !signature.args.empty() && signature.args[0] == "self";
  fail("{}: at most {} arguments expected, got {}", signature.name, expected - self, got - self);
}

sol::table docs(lua_State* L) {
  sol::state_view lua(L);
  sol::object table = lua.registry()[docs_key];
  if (table.get_type() != sol::type::table) table = lua.registry()[docs_key] = lua.create_table();
  return table;
}

void document(lua_State* L, const std::string& name, const std::string& heading, const std::string& text) {
  docs(L)[name] = heading + "\n" + text;
}

sol::object make_function(lua_State* L, Function f) {
  static std::deque<Timed> kept;  // as long as the program: Lua may call them to its last moment
  lua_pushlightuserdata(L, &kept.emplace_back(std::move(f), timer_of_new_functions));
  lua_pushcclosure(L, call_function, 1);
  return sol::stack::pop<sol::object>(L);
}

sol::object make_collected_function(lua_State* L, Function f) {
  sol::stack::push<sol::user<Timed>>(L, Timed{std::move(f), nullptr});
  lua_pushcclosure(L, call_collected_function, 1);
  return sol::stack::pop<sol::object>(L);
}

namespace {

std::string key_text(lua_State* L, const sol::object& key) {
  if (key.is<std::string>()) return key.as<std::string>();
  key.push();
  std::string text = describe(L, -1);
  lua_pop(L, 1);
  return text;
}

std::string_view help_name(std::string_view type) {
  constexpr std::string_view transposed = "transposed ";
  return type.starts_with(transposed) ? type.substr(transposed.size()) : type;
}

}  // namespace

void no_such_field(lua_State* L, const char* type, const sol::object& key) {
  fail("{} has no field or method '{}'; help(\"{}\") lists what it has", type, key_text(L, key), help_name(type));
}

void cannot_set_field(lua_State* L, const char* type, const sol::object& key) {
  fail("{} has no field '{}' that can be set; help(\"{}\") lists what it has", type, key_text(L, key), help_name(type));
}

Options::Options(const char* owner, sol::optional<sol::table> table, std::vector<std::string> known)
    : owner_(owner), table_(std::move(table)) {
  if (!table_) return;
  table_->push();
  bool inherits = luaL_getmetafield(table_->lua_state(), -1, "__index");
  lua_pop(table_->lua_state(), inherits ? 2 : 1);
  require(!inherits, "{}: a plain table of options expected, got one whose metatable has __index", owner_);
  for (auto& [key, value] : *table_) {
    std::string text = key.is<std::string>() ? key.as<std::string>() : "a value without a name";
    require(key.is<std::string>() && std::find(known.begin(), known.end(), text) != known.end(),
            "{}: unknown option '{}'; known: {}", owner_, text, fmt::join(known, ", "));
  }
}

void Options::complain(const char* key, const std::string& expected, const std::string& got) const {
  fail("{}: option {}: {} expected, got {}", owner_, key, expected, got);
}

std::uint64_t default_seed() {
  return seed_of_program;
}

void set_default_seed(std::uint64_t seed) {
  seed_of_program = seed;
}

std::uint64_t checked_seed(const char* owner, sol::optional<Int> seed) {
  require(!seed || *seed >= 0, "{}: a seed of 0 or more expected, got {}", owner, seed ? *seed : 0);
  return seed ? static_cast<std::uint64_t>(*seed) : default_seed();
}

}  // namespace kbcd::lua
