#include "bindings/glue/c_stack.hpp"

#include <pthread.h>

#include <algorithm>

#include "bindings/glue/def.hpp"

namespace kbcd::lua {
namespace {

// What the functions that do not check may use: BLAS, HDF5, MPI, and those of Lua's library that nest in one coroutine,
// which is limited to 65,500 values.
constexpr std::size_t spare = std::size_t{2} << 20;

constexpr std::size_t most = std::size_t{64} << 20;  // where ulimit -s sets no limit

struct Stack {
  const char* lowest = nullptr;  // it grows down to this address
  std::size_t bytes = 0;
};

Stack stack_of_thread() {
  Stack stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* lowest = nullptr;
  if (std::size_t bytes = 0; pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
    stack.bytes = std::min(bytes, most);
    stack.lowest = static_cast<const char*>(lowest) + bytes - stack.bytes;
  }
  pthread_attr_destroy(&attributes);
  return stack;
}

// No function of ours, which would check and count by itself.
int require_for_coroutine(lua_State* L) {
  try {
    require_c_stack(static_cast<int>(luaL_optinteger(L, 1, 0)), "coroutines");
    return 0;
  } catch (const Error& error) {
    lua_pushstring(L, error.what());
  }
  return lua_error(L);
}

}  // namespace

void require_c_stack(int depth, const char* what) {
  static const Stack stack = stack_of_thread();  // Lua runs on the main thread alone
  auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (here >= stack.lowest + std::min(spare, stack.bytes / 2)) return;
  fail(
      "C stack overflow: {} {} are within each other, and its {} kB (ulimit -s) are used up; does a function call itself "
      "without end?",
      depth, what, stack.bytes >> 10);
}

void guard_nesting(sol::state_view lua) {
  sol::table runtime = lua["package"]["loaded"]["kbcd.runtime"];
  lua_pushcfunction(lua, require_for_coroutine);
  runtime["job"]["require_c_stack"] = sol::stack::pop<sol::object>(lua);
  lua.safe_script("require 'kbcd.support.nesting'");
}

}  // namespace kbcd::lua
