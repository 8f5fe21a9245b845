// What the library in scripts/kbcd uses of the machine: timers, memory, files, the terminal, the job.
#include <omp.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "bindings/glue/def.hpp"
#include "bindings/program/files.hpp"
#include "bindings/program/keys.hpp"
#include "bindings/program/line_editor.hpp"
#include "bindings/program/signals.hpp"
#include "bindings/program/state.hpp"
#include "core/board.hpp"
#include "core/checksum.hpp"
#include "core/comm.hpp"
#include "core/memory.hpp"
#include "core/timers.hpp"

namespace kbcd::lua {
namespace {

struct Reservation {
  explicit Reservation(std::size_t bytes) : bytes(bytes) {}
  ~Reservation() { memory::unreserve(bytes); }
  Reservation(const Reservation&) = delete;
  std::size_t bytes;
};

// The files and folders (with a `/`) in a folder.
std::vector<std::string> names_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    names.push_back(at->path().filename().string() + (at->is_directory(unknown) ? "/" : ""));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What the prompt needs of the terminal.
void bind_terminal(sol::table terminal) {
  // complete(text before the cursor) gives the part to replace and a list of what may replace it.
  terminal["read_line"] = [](sol::this_state L, const std::string& prompt,
                             sol::protected_function complete) -> sol::object {
    auto line = read_line(prompt, [&](const std::string& before) -> Completions {
      sol::protected_function_result result = complete(before);
      if (!result.valid()) return {};
      return {result.get<std::string>(0), result.get<std::vector<std::string>>(1)};
    });
    if (line.interrupted) return sol::make_object(L, false);
    return line.end ? sol::object(sol::lua_nil) : sol::make_object(L, line.text);
  };
  terminal["edits_lines"] = &keys::at_terminal;
  terminal["columns"] = &terminal_columns;
  terminal["person_at_input"] = [] { return keys::person_at(STDIN_FILENO); };
  terminal["person_at_errors"] = [] { return keys::person_at(STDERR_FILENO); };
  terminal["load_history"] = &load_history;
  terminal["add_history"] = &add_history_line;
  terminal["close"] = &close_line_editor;
  terminal["begin_run"] = &keys::begin_run;
  terminal["end_run"] = &keys::end_run;
  terminal["folder"] = [](const std::string& folder) { return sol::as_table(names_in(folder)); };
}

// The ranks as one job: checks of their calls, and its end.
void bind_job(sol::table job) {
  // Sends rank 0's text to every rank; the others sleep while they wait, for a person at a prompt.
  job["bcast_idle"] = [](std::string text) {
    comm::bcast_idle(text, 0);
    return text;
  };
  job["barrier_within"] = &comm::barrier_within;
  job["checking"] = &comm::checking;
  job["set_checking"] = &comm::set_checking;
  job["require_same"] = [](const std::string& operation, const std::string& details) {
    comm::require_same(operation.c_str(), details);
  };
  job["checksum"] = [](const Matrix& matrix) { return checksum_text(matrix); };
  job["checked_calls"] = [] { return static_cast<double>(board::calls()); };
  job["meet"] = [](const std::string& place, const std::string& failure) { comm::meet(place.c_str(), failure); };
  job["abort"] = [](const std::string& message) { comm::abort(message); };
  job["who"] = &comm::who;
  job["node_ranks"] = [] { return comm::node_size(); };
}

void bind_timing(sol::table timing) {
  timing["timers"] = [](sol::this_state L) {
    sol::table all(L, sol::create);
    for (auto& entry : timers::entries())
      all[entry.name] =
          sol::state_view(L).create_table_with("seconds", entry.seconds, "calls", entry.calls, "operations",
                                               entry.work.operations, "bytes", entry.work.bytes);
    return all;
  };
  timing["seconds_in_primitives"] = [] { return seconds_in_primitives(); };
  timing["counters"] = [](sol::this_state L) {
    sol::table all(L, sol::create);
    for (auto& [name, amount] : timers::counters()) all[name] = amount;
    return all;
  };
  timing["in_none"] = &timers::in_none;
  timing["reset"] = &timers::reset;
  timing["add"] = [](const std::string& name, double seconds) { timers::add(name, seconds); };
}

void bind_memory(sol::state_view lua, sol::table memory_table) {
  // Reserves bytes of the memory budget for what a script keeps, as long as the result lives; nil if the budget lacks
  // them.
  lua.new_usertype<Reservation>("Reservation", sol::no_constructor);
  lua["Reservation"] = sol::lua_nil;
  memory_table["reserve"] = [](double bytes) -> std::shared_ptr<Reservation> {
    require(bytes >= 0 && bytes < 0x1p63, "memory.reserve: a number of bytes expected, got {}", bytes);
    auto wanted = static_cast<std::size_t>(bytes);
    return memory::reserve(wanted) ? std::make_shared<Reservation>(wanted) : nullptr;
  };
  memory_table["available"] = [] { return static_cast<double>(memory::available()); };
  memory_table["reserved"] = [] { return static_cast<double>(memory::reserved()); };
}

// The library's Lua files: the names NAME or FOLDER.NAME that require("kbcd." … ) takes, sorted.
void bind_library(sol::table library) {
  library["modules"] = [](sol::this_state L) {
    namespace fs = std::filesystem;
    std::set<std::string> names;
    for (auto& folder : script_folders()) {
      std::error_code missing;
      fs::path root = folder + "/kbcd";
      for (auto& entry : fs::recursive_directory_iterator(root, missing)) {
        if (entry.path().extension() != ".lua") continue;
        std::string name = entry.path().lexically_relative(root).replace_extension().string();
        std::replace(name.begin(), name.end(), '/', '.');
        names.insert(name);
      }
    }
    sol::table list(L, sol::create);
    for (auto& name : names) list.add(name);
    return list;
  };
}

}  // namespace

void bind_system(sol::state_view lua, sol::table kbcd) {
  def(lua, kbcd, "now()", "Seconds since the program started.", [] { return kbcd::now(); });
  def(lua, kbcd, "memory_peak()", "The largest resident memory of this process so far, in bytes.",
      [] { return static_cast<double>(memory::resident_peak()); });
  def(lua, kbcd, "memory_in_use()", "Bytes in live matrices and blocks of this process.",
      [] { return static_cast<double>(memory::in_use()); });
  def(lua, kbcd, "memory_budget([size])",
      "The memory that all blocks together may take on this rank, in bytes; a number of bytes or a text such as \"8G\" sets "
      "it.",
      [](sol::object size, sol::this_state L) {
        if (size.is<std::string>())
          memory::set_budget(memory::parse_size("memory_budget", size.as<std::string>()));
        else if (size.get_type() == sol::type::number && size.as<double>() >= 1 && size.as<double>() < 0x1p63)
          memory::set_budget(static_cast<std::size_t>(size.as<double>()));
        else if (size.get_type() != sol::type::lua_nil)
          fail("memory_budget: argument 1 (size): bytes or a text such as \"8G\" expected, got {}", describe(L, 1));
        return static_cast<double>(memory::budget());
      });
  def(lua, kbcd, "threads()", "The number of threads of this rank.", [] { return omp_get_max_threads(); });
  def(lua, kbcd, "seed()", "The seed that is used where none is given (--seed).",
      [] { return static_cast<double>(default_seed()); });
  def(lua, kbcd, "type(value)", "\"Matrix\", \"DataSet\" and so on for kbcd's own types, else what Lua's type() says.",
      [](sol::this_state L, sol::object) -> std::string {
        return lua_type(L, 1) == LUA_TUSERDATA ? describe(L, 1) : luaL_typename(L, 1);
      });
  def(lua, kbcd, "version()", "The versions of kbcd and of the libraries that it uses, as a text.",
      [] { return versions(); });

  // Internal tables of the library, one for each topic.
  auto topic = [&](const char* name) {
    sol::table table = lua.create_table();
    kbcd[name] = table;
    return table;
  };
  kbcd["docs"] = docs(lua);
  bind_terminal(topic("terminal"));
  bind_job(topic("job"));
  bind_timing(topic("timing"));
  bind_memory(lua, topic("memory"));
  bind_library(topic("library"));
  bind_files(topic("files"));
  bind_signals(topic("signals"));
}

}  // namespace kbcd::lua
