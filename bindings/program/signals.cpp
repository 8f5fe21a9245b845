#include "bindings/program/signals.hpp"

#include <csignal>

#include "core/board.hpp"

namespace kbcd::lua {
namespace {

lua_State* stopped_state = nullptr;
volatile std::sig_atomic_t noted_signal = 0;

// mpirun forwards SIGUSR1 to the ranks.
constexpr int stop_signals[] = {SIGTERM, SIGINT, SIGUSR1};

void handle(void (*handler)(int), int signal) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

// Whichever signal came first, a second one, of any kind, ends the program.
void next_one_ends() {
  for (int signal : stop_signals) handle(SIG_DFL, signal);
}

// Stays set until the outermost call returns: a pcall in between must not swallow the interrupt.
void stop_here(lua_State* L, lua_Debug* here) {
  lua_getinfo(L, "Sl", here);
  lua_pushfstring(L, here->currentline > 0 ? "%s:%d: interrupted" : "interrupted", here->short_src, here->currentline);
  lua_error(L);
}

void stop_lua(int) {
  lua_sethook(stopped_state, stop_here, LUA_MASKCOUNT, 1);
}

void stop_script(int signal) {
  next_one_ends();
  board::interrupt(signal);
  stop_lua(signal);
}

void note(int signal) {
  next_one_ends();
  noted_signal = signal;
}

void stop_script_by_signals() {
  next_one_ends();
  for (int signal : {SIGTERM, SIGINT}) handle(stop_script, signal);
}

}  // namespace

SignalsStopScript::SignalsStopScript(lua_State* L) {
  stopped_state = L;
  stop_script_by_signals();
}

SignalsStopScript::~SignalsStopScript() {
  next_one_ends();
}

void bind_signals(sol::table signals) {
  // From now on the first SIGTERM, SIGINT or SIGUSR1 is only recorded, for the script to check; `false`: no longer.
  signals["note_stop_signals"] = [](bool noting) {
    if (!noting) return stop_script_by_signals();
    for (int signal : stop_signals) handle(note, signal);
  };
  signals["stop_signal"] = [] { return static_cast<int>(noted_signal); };  // its number, or 0
  // f() with Ctrl-C as an error inside it.
  signals["interruptible"] = [](sol::this_state L, sol::protected_function f) {
    stopped_state = L;
    struct sigaction action {
    }, before{};
    action.sa_handler = stop_lua;
    sigaction(SIGINT, &action, &before);
    auto result = f();
    sigaction(SIGINT, &before, nullptr);
    lua_sethook(L, nullptr, 0, 0);
    return result;
  };
}

}  // namespace kbcd::lua
