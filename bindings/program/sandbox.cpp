#include "bindings/program/sandbox.hpp"

#include <luajit.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "bindings/glue/def.hpp"
#include "core/access.hpp"
#include "core/blas.hpp"
#include "core/comm.hpp"
#include "core/memory.hpp"

namespace kbcd::lua {
namespace {

using Checked = std::function<int(lua_State*)>;

// The original value of a name, kept in the registry, which no script can reach. Every guard is C++, so that a script
// cannot change a check by changing a string method.
void keep(sol::state_view lua, const std::string& name, const sol::object& value) {
  lua.registry()["kbcd sandbox " + name] = value;
}

void push_kept(lua_State* L, const std::string& name) {
  lua_getfield(L, LUA_REGISTRYINDEX, ("kbcd sandbox " + name).c_str());
}

// Calls the original function `name` with the arguments on the stack.
int call_kept(lua_State* L, const std::string& name) {
  push_kept(L, name);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

// table.key, called `name`, becomes f.
void replace(sol::table table, const char* key, const std::string& name, Checked f) {
  keep(table.lua_state(), name, table[key]);
  table[key] = make_function(table.lua_state(), std::move(f));
}

void refuse(sol::table table, const char* key, const std::string& name) {
  replace(table, key, name,
          [name](lua_State*) -> int { fail("{}: not available in the sandbox (kbcd --sandbox)", name); });
}

// nil, the message and EACCES, as io.open and os.remove return them.
int denied(lua_State* L, const std::string& message) {
  lua_pushnil(L);
  lua_pushlstring(L, message.data(), message.size());
  lua_pushinteger(L, EACCES);
  return 3;
}

std::string text_argument(lua_State* L, int index, const char* owner) {
  require(lua_isstring(L, index), "{}: argument {}: a path expected, got {}", owner, index, luaL_typename(L, index));
  std::size_t length = 0;
  const char* text = lua_tolstring(L, index, &length);
  return {text, length};
}

int open_file(lua_State* L) {
  std::string path = text_argument(L, 1, "io.open");
  std::string mode = lua_isnoneornil(L, 2) ? "r" : text_argument(L, 2, "io.open");
  std::string plain = mode.ends_with('b') ? mode.substr(0, mode.size() - 1) : mode;
  require(plain == "r" || plain == "w" || plain == "a" || plain == "r+" || plain == "w+" || plain == "a+",
          "io.open: mode r, w or a expected, with + or b behind it, got '{}'", mode);
  try {
    plain == "r" ? access::reading(path) : access::writing(path);
  } catch (const Error& e) {
    return denied(L, e.what());
  }
  return call_kept(L, "io.open");
}

// os.remove and os.rename: every argument is a path to change.
int change_files(lua_State* L, const std::string& name, int paths) {
  try {
    for (int i = 1; i <= paths; ++i) access::replacing(text_argument(L, i, name.c_str()));
  } catch (const Error& e) {
    return denied(L, e.what());
  }
  return call_kept(L, name);
}

// io.lines, io.input and io.output: a path, or a file that is open, or nothing.
int use_file(lua_State* L, const std::string& name) {
  if (lua_isstring(L, 1)) {
    std::string path = text_argument(L, 1, name.c_str());
    name == "io.output" ? access::writing(path) : access::reading(path);
  }
  return call_kept(L, name);
}

void guard_files(sol::table io, sol::table os) {
  replace(io, "open", "io.open", open_file);
  for (const char* key : {"lines", "input", "output"}) {
    std::string name = std::string("io.") + key;
    replace(io, key, name, [name](lua_State* L) { return use_file(L, name); });
  }
  replace(os, "remove", "os.remove", [](lua_State* L) { return change_files(L, "os.remove", 1); });
  replace(os, "rename", "os.rename", [](lua_State* L) { return change_files(L, "os.rename", 2); });
  for (const char* key : {"popen", "tmpfile"}) refuse(io, key, std::string("io.") + key);
  for (const char* key : {"execute", "tmpname", "setlocale"}) refuse(os, key, std::string("os.") + key);
  // The environment may hold secrets.
  replace(os, "getenv", "os.getenv", [](lua_State* L) {
    if (text_argument(L, 1, "os.getenv").starts_with("KBCD_")) return call_kept(L, "os.getenv");
    lua_pushnil(L);
    return 1;
  });
}

// The places of package.path.
std::vector<std::string> split(const std::string& places) {
  std::vector<std::string> list;
  std::istringstream in(places);
  for (std::string place; std::getline(in, place, ';');) list.push_back(place);
  return list;
}

// Argument `at` becomes "t": source text alone.
void ask_for_text(lua_State* L, int at) {
  if (lua_gettop(L) < at) lua_settop(L, at);
  lua_pushliteral(L, "t");
  lua_replace(L, at);
}

int load_text(lua_State* L) {
  ask_for_text(L, 3);
  return call_kept(L, "load");
}

int load_file(lua_State* L) {
  try {
    access::reading(text_argument(L, 1, "loadfile"));
  } catch (const Error& e) {
    lua_settop(L, 0);
    return denied(L, e.what());
  }
  ask_for_text(L, 2);
  return call_kept(L, "loadfile");
}

int do_file(lua_State* L) {
  lua_settop(L, 1);
  load_file(L);
  if (lua_isnil(L, 1)) fail("{}", lua_tostring(L, 2));
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L);
}

// Looks only at files that may be read, so that a script cannot find out which other files exist.
int search_path(lua_State* L) {
  std::string name = text_argument(L, 1, "package.searchpath"), places = text_argument(L, 2, "package.searchpath");
  std::replace(name.begin(), name.end(), '.', '/');
  std::string tried;
  for (auto& place : split(places)) {
    std::string path = place;
    for (std::size_t at = 0; (at = path.find('?', at)) != path.npos; at += name.size()) path.replace(at, 1, name);
    bool found = false;
    try {
      access::reading(path);
      std::error_code error;
      found = std::filesystem::is_regular_file(path, error);
    } catch (const Error&) {  // as if it did not exist
    }
    if (found) {
      lua_settop(L, 0);
      lua_pushlstring(L, path.data(), path.size());
      return 1;
    }
    tried += "\n\tno file '" + path + "'";
  }
  lua_settop(L, 0);
  lua_pushnil(L);
  lua_pushlstring(L, tried.data(), tried.size());
  return 2;
}

// Modules that are loaded, and text files on package.path that may be read: of the library's `package`, or of that of
// the script, which is kept as `owner` and finds what the library's path has, too.
int require_module(lua_State* L, const std::string& owner) {
  std::string name = text_argument(L, 1, "require");
  auto push_loaded = [&] {
    push_kept(L, owner + ".loaded");
    lua_getfield(L, -1, name.c_str());
    lua_remove(L, -2);
  };
  push_loaded();
  if (!lua_isnil(L, -1)) return 1;
  lua_settop(L, 1);
  for (const std::string& of : {owner, std::string("package")}) {
    push_kept(L, of);
    lua_pushliteral(L, "path");
    lua_rawget(L, -2);
    lua_remove(L, -2);
    require(lua_type(L, -1) == LUA_TSTRING, "package.path must be a string");
  }
  lua_pushfstring(L, "%s;%s", lua_tostring(L, 2), lua_tostring(L, 3));
  lua_replace(L, 2);
  lua_settop(L, 2);
  search_path(L);
  if (lua_isnil(L, 1))
    fail("module '{}' is not available in the sandbox: {}", name, lua_isstring(L, 2) ? lua_tostring(L, 2) : "");
  lua_settop(L, 1);
  load_file(L);
  if (lua_isnil(L, 1)) fail("module '{}' cannot be loaded: {}", name, lua_tostring(L, 2));
  lua_pushlstring(L, name.data(), name.size());
  lua_call(L, 1, 1);
  push_loaded();  // the module may have put itself there
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    if (lua_isnil(L, -1)) lua_pushboolean(L, true);
    push_kept(L, owner + ".loaded");
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, name.c_str());
    lua_pop(L, 1);
  }
  return 1;
}

void guard_loading(sol::state_view lua) {
  sol::table package = lua["package"], loaded = package["loaded"], globals = lua.globals();
  for (const char* name : {"ffi", "jit.util", "jit.opt", "jit.profile", "string.buffer", "table.new", "table.clear"}) {
    keep(lua, name, loaded[name]);  // alive: LuaJIT itself uses a table of ffi's when the state is closed
    loaded[name] = sol::lua_nil;
  }
  package["preload"] = lua.create_table();
  package["cpath"] = "";
  for (const char* name : {"loaders", "searchers", "seeall", "config"}) package[name] = sol::lua_nil;
  refuse(package, "loadlib", "package.loadlib");
  keep(lua, "package", package);
  keep(lua, "package.loaded", loaded);
  replace(package, "searchpath", "package.searchpath", search_path);
  replace(globals, "require", "require", [](lua_State* L) { return require_module(L, "package"); });
  replace(globals, "load", "load", load_text);
  globals["loadstring"] = globals.get<sol::object>("load");
  replace(globals, "loadfile", "loadfile", load_file);
  globals["dofile"] = make_function(lua, do_file);
  refuse(lua["string"], "dump", "string.dump");
}

// A table of those entries alone.
void keep_only(sol::state_view lua, const char* name, std::initializer_list<const char*> entries) {
  sol::table from = lua[name], kept = lua.create_table();
  for (const char* entry : entries) kept[entry] = from.get<sol::object>(entry);
  lua[name] = kept;
  lua["package"]["loaded"][name] = kept;
}

// A script gets the metatables of its own tables alone: those of our own types hold destructors and casts.
void hide_metatables(sol::state_view lua) {
  replace(lua.globals(), "getmetatable", "getmetatable", [](lua_State* L) {
    if (lua_istable(L, 1)) return call_kept(L, "getmetatable");
    lua_pushnil(L);
    return 1;
  });
}

// sol2 keeps the support of its types in global variables: they are moved where a script cannot reach, and stay alive.
void hide_globals(sol::state_view lua) {
  std::vector<std::string> hidden;
  lua.globals().for_each([&](const sol::object& key, const sol::object&) {
    if (key.get_type() != sol::type::string) return;
    if (auto name = key.as<std::string>(); name.starts_with("sol.")) hidden.push_back(name);
  });
  for (auto& name : hidden) {
    keep(lua, name, lua[name]);
    lua[name] = sol::lua_nil;
  }
}

constexpr const char* load_library = R"(
local kbcd = require "kbcd"
for _, name in ipairs(require("kbcd.runtime").library.modules()) do
  if name ~= "init" and not name:find("^bench") then pcall(require, "kbcd." .. name) end
end
for _, name in ipairs{ "cjson", "cjson.safe", "argparse" } do pcall(require, name) end
for name in pairs(require("kbcd.runtime").library.public) do local _ = kbcd[name] end
)";

// Loads the whole library before the guards are set, but nothing from the current folder, which may be the script's.
void load_all(sol::state_view lua) {
  sol::table package = lua["package"];
  std::string path = package["path"];
  for (const char* key : {"path", "cpath"}) {
    std::string absolute;
    for (auto& place : split(package[key]))
      if (place.starts_with('/')) absolute += place + ";";
    package[key] = absolute;
  }
  lua.safe_script(load_library);
  package["path"] = path;
}

}  // namespace

sol::table enter_sandbox(sol::state_view lua) {
  load_all(lua);
  sol::table runtime = lua["package"]["loaded"]["kbcd.runtime"];
  constexpr const char* maker = "kbcd.support.sandbox";  // which holds the debug library: the script must not find it
  sol::protected_function environment = lua["package"]["loaded"][maker];
  lua["package"]["loaded"][maker] = sol::lua_nil;
  guard_files(lua["io"], lua["os"]);
  guard_loading(lua);
  keep_only(lua, "debug", {"traceback"});
  keep_only(lua, "jit", {"version", "version_num", "os", "arch", "on", "off", "flush", "status"});
  for (const char* name : {"getfenv", "setfenv", "newproxy", "module"}) lua[name] = sol::lua_nil;
  refuse(runtime["Matrix"], "ptr", "Matrix:ptr");
  for (const char* name :
       {"read_line", "edits_lines", "load_history", "add_history", "close", "begin_run", "end_run", "folder"})
    refuse(runtime["terminal"], name, std::string("terminal.") + name);
  for (const char* name : {"interruptible", "keep_session", "settle"})
    refuse(runtime["signals"], name, std::string("signals.") + name);
  hide_metatables(lua);
  hide_globals(lua);
  auto made = environment(lua.globals());
  if (!made.valid()) throw Error(sol::error(made).what());
  sol::table globals = made, package = globals["package"];
  keep(lua, "script's package", package);
  keep(lua, "script's package.loaded", package["loaded"]);
  globals["require"] = make_function(lua, [](lua_State* L) { return require_module(L, "script's package"); });
  // What is done once, and would need files or system calls that are closed from now on.
  tzset();
  memory::resident_peak(), memory::available();
  blas::start_threads();
  comm::connect_all();
  access::restrict(comm::job_folder());
  return globals;
}

}  // namespace kbcd::lua
