#include "bindings/glue/call_sites.hpp"

#include "bindings/glue/call_position.hpp"
#include "bindings/glue/def.hpp"
#include "core/check.hpp"
#include "core/comm.hpp"

namespace kbcd::lua {
namespace {

lua_State* main_state = nullptr;
const void *next_function = nullptr, *ordered_next = nullptr;  // what pairs() gives, on one rank and on several

// Of the value at the top of the stack.
const void* pointer_to(lua_State* L) {
  const void* pointer = lua_topointer(L, -1);
  lua_pop(L, 1);
  return pointer;
}

bool has_several(lua_State* L, int table) {
  lua_pushnil(L);
  for (int i = 0; i < 2; ++i) {
    if (!lua_next(L, table)) return false;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return true;
}

// Lua's pairs() visits strings and objects in an order that differs from process to process, so that ranks would sum
// what does not belong together. Ours (support/ordered_pairs.lua) sorts strings, for loops that cannot be seen from
// here; a collective call inside a loop that can be seen is an error. The locals of a loop are its generator, its
// table, a counter, and the key.
void refuse_pairs(lua_State* L, lua_Debug* frame) {
  for (int n = 1; const char* name = lua_getlocal(L, frame, n); ++n) {
    bool generator = std::string_view(name) == "(for generator)";
    const void* function = pointer_to(L);
    if (!generator || (function != next_function && function != ordered_next)) continue;
    bool arbitrary = false;
    if (lua_getlocal(L, frame, n + 3)) {
      arbitrary = !lua_isnil(L, -1) && lua_type(L, -1) != LUA_TNUMBER;
      lua_pop(L, 1);
    }
    if (!arbitrary || !lua_getlocal(L, frame, n + 1)) continue;
    bool several = lua_istable(L, -1) && has_several(L, lua_gettop(L));
    lua_pop(L, 1);
    if (several)
      fail(
          "the ranks are called inside the `pairs` loop at {}:{}; Lua's `pairs` runs in another order on every rank, so "
          "write\n"
          "  for _, key in ipairs(kbcd.sorted_keys(t)) do local value = t[key] … end",
          frame->short_src, frame->currentline);
  }
}

// The lines of all functions that are running, and where on them, innermost first; of a REPL those of its input.
std::string call_sites() {
  constexpr int deepest = 32;
  lua_State* L = running_state() ? running_state() : main_state;
  luaL_checkstack(L, 8, "call_sites");
  std::string sites;
  lua_Debug frame;
  for (int level = 0; level < deepest && lua_getstack(L, level, &frame); ++level) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline < 0) continue;  // a C function
    if (level > 1 && std::string_view(frame.source).ends_with("kbcd/repl/repl.lua")) break;
    refuse_pairs(L, &frame);
    sites += fmt::format("{}{}:{}", sites.empty() ? "" : "\n", frame.short_src, frame.currentline);
    if (auto position = call_position(L, frame)) sites += fmt::format("{}{}", position_mark, *position);
  }
  return sites;
}

}  // namespace

void show_call_sites(lua_State* L) {
  main_state = L;
  lua_getglobal(L, "next");
  next_function = pointer_to(L);
  sol::table runtime = sol::state_view(L)["package"]["loaded"]["kbcd.runtime"];
  sol::object ordered = runtime["job"]["ordered_next"];  // nil on one rank
  ordered.push(L);
  ordered_next = pointer_to(L);
  comm::set_call_sites(&call_sites);
}

}  // namespace kbcd::lua
