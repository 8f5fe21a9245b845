// The Lua state with the whole library in it, and running scripts in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/glue/lua.hpp"

namespace kbcd::lua {

std::string versions();  // kbcd, LuaJIT, OpenBLAS and its CPU kernel, MPI

// The folders that hold the scripts: $KBCD_PATH, then beside the program, then where it is installed.
std::vector<std::string> script_folders();
// Where NAME.lua is on the script path.
std::optional<std::string> find_script(const std::string& name);

// An Error if printed text is lost: for example, because the disk behind standard output is full.
void require_printed();

class State {
 public:
  explicit State(bool sandbox = false);  // sandbox: runs a script that is not trusted (sandbox.hpp)
  lua_State* get() { return lua_.lua_state(); }

  // Fails with the Lua message and traceback.
  void run_file(const std::string& path, const std::vector<std::string>& args);
  void run_text(const std::string& text, const std::string& chunk_name, const std::vector<std::string>& args);
  void run_repl();

 private:
  void run_loaded(int status, const std::string& script, const std::vector<std::string>& args);
  sol::state lua_;
  lua_State* script_;  // the coroutine that scripts run in
  bool sandbox_;
};

}  // namespace kbcd::lua
