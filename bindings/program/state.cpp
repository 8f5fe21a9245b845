#include "bindings/program/state.hpp"

#include <luajit.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bindings/glue/c_stack.hpp"
#include "bindings/glue/call_sites.hpp"
#include "bindings/glue/def.hpp"
#include "bindings/glue/lua_memory.hpp"
#include "bindings/program/sandbox.hpp"
#include "core/blas.hpp"
#include "core/byte_tiles.hpp"
#include "core/comm.hpp"
#include "core/memory.hpp"

namespace kbcd::lua {
namespace {

namespace fs = std::filesystem;

lua_State* collected_state = nullptr;

// Lua's garbage collector does not see our buffers: it takes a step each time so many bytes are allocated.
void pace_collector(std::size_t bytes) {
  constexpr std::size_t step = 64 << 10;
  static std::size_t debt = 0;
  debt += bytes;
  if (debt < step) return;
  int kilobytes = static_cast<int>(std::min<std::size_t>(debt >> 10, 1 << 20));
  debt = 0;
  lua_gc(collected_state, LUA_GCSTEP, kilobytes);
}

// The script's file and line, then the message of the C++ exception.
int on_exception(lua_State* L, sol::optional<const std::exception&>, sol::string_view what) {
  luaL_where(L, 1);
  lua_pushlstring(L, what.data(), what.size());
  lua_concat(L, 2);
  return 1;
}

// An error of any type as a text.
int message_of(lua_State* L) {
  if (!lua_isstring(L, 1) && !luaL_callmeta(L, 1, "__tostring"))
    lua_pushfstring(L, "(an error object that is a %s)", luaL_typename(L, 1));
  return 1;
}

// The error that ended a coroutine, and where it happened.
std::string with_traceback(lua_State* L, lua_State* coroutine, int status) {
  if (status == LUA_ERRMEM) return out_of_memory_message();
  lua_pushcfunction(L, message_of);
  if (status == LUA_YIELD)
    lua_pushliteral(L, "coroutine.yield was called outside of a coroutine that the script has made");
  else
    lua_xmove(coroutine, L, 1);
  if (lua_pcall(L, 1, 1, 0) != 0) return "an error whose __tostring fails, too";
  luaL_traceback(L, coroutine, lua_tostring(L, -1), 0);
  return lua_tostring(L, -1);
}

fs::path program_folder() {
  std::error_code error;
  auto program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::current_path() : program.parent_path();
}

// os.exit would end this process without ending the other ranks.
int leave(lua_State* L) {
  int status = lua_isboolean(L, 1) ? !lua_toboolean(L, 1) : static_cast<int>(luaL_optinteger(L, 1, 0));
  if (status == 0) require_printed();
  comm::exit(status);
}

// A script that rank 0 reads; a first line that begins with # is for the shell.
std::string text_of_root(const std::string& path) {
  std::string text;
  comm::together([&] {
    if (comm::rank() != 0) return;
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    require(file.good() || file.eof(), "{}: the script cannot be read", path);
  });
  comm::bcast(text, 0);
  return text.starts_with('#') ? "--" + text : text;
}

}  // namespace

void require_printed() {
  bool flushed = std::fflush(stdout) == 0;
  require(flushed && !std::ferror(stdout),
          "standard output could not be written to its end, so what was printed is not complete; is its disk full?");
}

std::string versions() {
  return fmt::format("kbcd {}\n{}\nOpenBLAS {} ({} kernels, {})\n{}\ntiles: {}; of bytes: {}\n", KBCD_VERSION,
                     LUAJIT_VERSION, blas::version(), blas::cpu_kernel(),
                     blas::uses_openmp() ? "OpenMP" : "own threads", comm::version(), tiles::chosen_name(),
                     tiles::byte_names().empty() ? "none" : tiles::byte_names().front());
}

std::vector<std::string> script_folders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("KBCD_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      auto colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  auto program = program_folder();
  for (auto& folder : {program / "scripts", program / "../share/kbcd/scripts"})
    if (fs::is_directory(folder)) folders.push_back(folder.lexically_normal());
  return folders;
}

std::optional<std::string> find_script(const std::string& name) {
  for (auto& folder : script_folders())
    if (fs::path file = fs::path(folder) / (name + ".lua"); fs::is_regular_file(file)) return file;
  return std::nullopt;
}

State::State(bool sandbox) : sandbox_(sandbox) {
  lua_.open_libraries();
  lua_State* L = lua_.lua_state();
  set_main_thread(L);
  script_ = lua_newthread(L);
  luaL_ref(L, LUA_REGISTRYINDEX);  // for ever: values that a script leaves may refer to it
  lua_.set_exception_handler(&on_exception);
  lua_pushcfunction(L, message_of);
  sol::protected_function::set_default_handler(sol::stack::pop<sol::object>(L));
  auto gc64 = lua_.safe_script("return require('ffi').abi('gc64')", sol::script_pass_on_error);
  require(gc64.valid() && gc64.get<bool>(), "this LuaJIT was built without GC64 and cannot address our matrices");

  std::string path;
  for (auto& folder : script_folders()) path += fmt::format("{0}/?.lua;{0}/?/init.lua;", folder);
  require(find_script("kbcd/init").has_value(),
          "the library kbcd/init.lua was not found in the folder 'scripts' beside the program nor in "
          "'../share/kbcd/scripts' (seen from {}); install it with its scripts, or set KBCD_PATH to their folder",
          program_folder().string());
  lua_["package"]["path"] = path + lua_["package"]["path"].get<std::string>();
  lua_["os"]["exit"] = make_function(L, &leave);

  sol::table kbcd = lua_.create_table();
  bind_matrix(lua_, kbcd);
  bind_index(lua_, kbcd);
  bind_comm(lua_, kbcd);
  bind_data(lua_, kbcd);
  bind_rows(lua_, kbcd);
  bind_h5(lua_, kbcd);
  bind_kernels(lua_, kbcd);
  bind_features(lua_, kbcd);
  bind_blocks(lua_, kbcd);
  bind_sketch(lua_, kbcd);
  bind_text(lua_, kbcd);
  bind_sparse_rows(lua_, kbcd);
  bind_solve(lua_, kbcd);
  bind_vision(lua_, kbcd);
  bind_speech(lua_, kbcd);
  bind_system(lua_, kbcd);
  lua_["package"]["loaded"]["kbcd.runtime"] = kbcd;
  guard_nesting(lua_);
  if (comm::size() > 1) lua_.safe_script("pairs = require 'kbcd.support.ordered_pairs'");

  limit_memory(L);
  show_call_sites(script_);
  collected_state = script_;
  memory::set_allocation_hook(&pace_collector);
}

// In a coroutine, whose stack still exists after an error: after a stack overflow, an error handler has no stack left.
void State::run_loaded(int status, const std::string& script, const std::vector<std::string>& args) {
  if (status != 0) throw Error(lua_tostring(script_, -1));
  sol::table globals = lua_.globals();
  if (sandbox_) {  // the script itself has been read by now, from any folder
    globals = enter_sandbox(lua_);
    // Of the script, of what it loads and of coroutines that it makes.
    globals.push(script_);
    lua_pushvalue(script_, -1);
    lua_setfenv(script_, 1);
    lua_replace(script_, LUA_GLOBALSINDEX);
  }
  for (sol::table table : {sol::table(lua_.globals()), globals}) {  // commands of the library read its own
    sol::table arg = lua_.create_table();
    arg[0] = script;
    for (auto& value : args) arg.add(value);
    table["arg"] = arg;
  }
  for (auto& value : args) lua_pushlstring(script_, value.data(), value.size());
  status = lua_resume(script_, lua_.lua_state(), static_cast<int>(args.size()));
  if (status != 0) throw Error(with_traceback(lua_.lua_state(), script_, status));
  lua_settop(script_, 0);
}

void State::run_file(const std::string& path, const std::vector<std::string>& args) {
  // `require` also finds files beside the script.
  auto folder = fs::path(path).parent_path().string();
  sol::table package = lua_["package"];
  package["path"] = fmt::format("{}/?.lua;{}", folder.empty() ? "." : folder, package["path"].get<std::string>());
  const char* mode = sandbox_ ? "t" : nullptr;
  if (comm::host_of(0).empty()) return run_loaded(luaL_loadfilex(script_, path.c_str(), mode), path, args);
  std::string text = text_of_root(path);  // the other hosts need not have the file
  run_loaded(luaL_loadbufferx(script_, text.data(), text.size(), ("@" + path).c_str(), mode), path, args);
}

void State::run_text(const std::string& text, const std::string& chunk_name, const std::vector<std::string>& args) {
  int status =
      luaL_loadbufferx(script_, text.data(), text.size(), ("=" + chunk_name).c_str(), sandbox_ ? "t" : nullptr);
  run_loaded(status, chunk_name, args);
}

void State::run_repl() {
  run_text("require('kbcd.repl.repl').run()", "repl", {});
}

}  // namespace kbcd::lua
