// What the helpers in scripts/kbcd need of the machine: timers, memory, the terminal, the REPL's line.
#include <omp.h>
#include <unistd.h>

#include <filesystem>

#include "bindings/def.hpp"
#include "bindings/files.hpp"
#include "bindings/line_editor.hpp"
#include "bindings/signals.hpp"
#include "bindings/state.hpp"
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

// Whether a person is at this end: it is a terminal, or it is mpirun's pipe and mpirun's own is one.
bool person_at(int descriptor) {
  if (isatty(descriptor)) return true;
  std::error_code error;
  auto other = std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", getppid(), descriptor), error).string();
  return !error && std::getenv("OMPI_COMM_WORLD_SIZE") &&
         (other.starts_with("/dev/pts/") || other.starts_with("/dev/tty"));
}

void bind_repl(sol::state_view lua, sol::table core) {
  core["read_line"] = [](sol::this_state L, const std::string& prompt,
                         sol::protected_function complete) -> sol::object {
    auto line = read_line(prompt, [&](const std::string& word) -> std::vector<std::string> {
      auto result = complete(word);
      if (!result.valid()) return {};
      return result.get<std::vector<std::string>>();
    });
    if (line.interrupted) return sol::make_object(L, false);
    return line.end ? sol::object(sol::lua_nil) : sol::make_object(L, line.text);
  };
  core["person_at_input"] = [] { return person_at(STDIN_FILENO); };
  core["person_at_errors"] = [] { return person_at(STDERR_FILENO); };
  core["load_history"] = &load_history;
  core["add_history"] = &add_history_line;
  // Rank 0's text on every rank, waiting without work: for a person at a prompt.
  core["bcast_idle"] = [](std::string text) {
    comm::bcast_idle(text, 0);
    return text;
  };
  core["barrier_within"] = &comm::barrier_within;
  core["checking"] = &comm::checking;
  core["set_checking"] = &comm::set_checking;
  core["require_same"] = [](const std::string& operation, const std::string& details) {
    comm::require_same(operation.c_str(), details);
  };
  core["checked_calls"] = [] { return static_cast<double>(board::calls()); };
  core["meet"] = [](const std::string& place, const std::string& failure) { comm::meet(place.c_str(), failure); };
  core["abort"] = [](const std::string& message) { comm::abort(message); };
  core["docs"] = docs(lua);
  // The library's Lua files: the names that require("kbcd.NAME") knows.
  core["modules"] = [](sol::this_state L) {
    sol::table names(L, sol::create);
    for (auto& folder : script_folders()) {
      std::error_code missing;
      for (auto& entry : std::filesystem::directory_iterator(folder + "/kbcd", missing))
        if (entry.path().extension() == ".lua") names.add(entry.path().stem().string());
    }
    return names;
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
      "What blocks may take together on this rank, in bytes; a number of bytes or a text such as \"8G\" sets "
      "it.",
      [](sol::object size, sol::this_state L) {
        if (size.is<std::string>())
          memory::set_budget(memory::parse_size("memory_budget", size.as<std::string>()));
        else if (size.get_type() == sol::type::number && size.as<double>() >= 1)
          memory::set_budget(static_cast<std::size_t>(size.as<double>()));
        else if (size.get_type() != sol::type::lua_nil)
          fail("memory_budget: argument 1 (size): bytes or a text such as \"8G\" expected, got {}", describe(L, 1));
        return static_cast<double>(memory::budget());
      });
  def(lua, kbcd, "threads()", "The threads of this rank.", [] { return omp_get_max_threads(); });
  def(lua, kbcd, "seed()", "The seed that is used where none is given (--seed).",
      [] { return static_cast<double>(default_seed()); });
  def(lua, kbcd, "type(value)", "\"Matrix\", \"DataSet\" and so on for kbcd's own types, else what Lua's type() says.",
      [](sol::this_state L, sol::object) -> std::string {
        return lua_type(L, 1) == LUA_TUSERDATA ? describe(L, 1) : luaL_typename(L, 1);
      });
  def(lua, kbcd, "version()", "The versions of kbcd and of what it stands on, as a text.", [] { return versions(); });

  sol::table core = lua.create_table();
  kbcd["system"] = core;
  core["is_terminal"] = [](int descriptor) { return isatty(descriptor) == 1; };
  core["timers"] = [](sol::this_state L) {
    sol::table all(L, sol::create);
    for (auto& entry : timers::entries())
      all[entry.name] = sol::state_view(L).create_table_with("seconds", entry.seconds, "calls", entry.calls);
    return all;
  };
  core["seconds_in_primitives"] = [] { return seconds_in_primitives(); };
  core["counters"] = [](sol::this_state L) {
    sol::table all(L, sol::create);
    for (auto& [name, amount] : timers::counters()) all[name] = amount;
    return all;
  };
  // Bytes of the memory budget, for what a script keeps: held as long as the result lives; nil if they are not left.
  lua.new_usertype<Reservation>("Reservation", sol::no_constructor);
  lua["Reservation"] = sol::lua_nil;
  core["reserve"] = [](double bytes) -> std::shared_ptr<Reservation> {
    auto wanted = static_cast<std::size_t>(bytes);
    return memory::reserve(wanted) ? std::make_shared<Reservation>(wanted) : nullptr;
  };
  core["memory_available"] = [] { return static_cast<double>(memory::available()); };
  core["node_ranks"] = [] { return comm::node_size(); };
  core["reserved"] = [] { return static_cast<double>(memory::reserved()); };
  core["checksum"] = [](const std::string& text) {
    Checksum sum;
    sum.add(text.data(), text.size());
    return Checksum::text(sum.value());
  };
  core["reset_timers"] = &timers::reset;
  core["add_time"] = [](const std::string& name, double seconds) { timers::add(name, seconds); };
  bind_files(core);
  bind_repl(lua, core);
  bind_signals(core);
}

}  // namespace kbcd::lua
