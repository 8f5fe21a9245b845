#include "bindings/glue/lua_memory.hpp"

#include <algorithm>

#include "core/memory.hpp"

namespace kbcd::lua {
namespace {

constexpr std::size_t least = std::size_t{64} << 20;

struct Limited {
  lua_Alloc allocate = nullptr;
  void* data = nullptr;
  std::size_t used = 0, limit = 0;
  bool refused = false;
} limited;

void* allocate(void*, void* block, std::size_t before, std::size_t after) {
  auto& l = limited;
  if (after > before && l.used + (after - before) > l.limit) {
    l.refused = true;
    return nullptr;
  }
  void* result = l.allocate(l.data, block, before, after);
  if (result || after == 0) l.used += after - before;
  return result;
}

}  // namespace

void limit_memory(lua_State* L) {
  limited.allocate = lua_getallocf(L, &limited.data);
  limited.used = static_cast<std::size_t>(lua_gc(L, LUA_GCCOUNT, 0)) << 10;
  limited.limit = std::max(least, 2 * memory::budget());
  if (memory::limit() > 0) limited.limit = std::min(limited.limit, memory::limit());
  lua_setallocf(L, allocate, nullptr);
}

std::string out_of_memory_message() {
  if (!limited.refused) return "out of memory: the system has none left for the script";
  if (limited.limit == memory::limit())
    return fmt::format("out of memory: the script's own tables and strings take more than {} MB (--limit-memory)",
                       limited.limit >> 20);
  return fmt::format(
      "out of memory: the script's own tables and strings take more than {} MB (twice --memory, and at least {} MB). Does "
      "a loop\nadd to a table without end? Large data belongs into a Matrix or a DataSet.",
      limited.limit >> 20, least >> 20);
}

}  // namespace kbcd::lua
