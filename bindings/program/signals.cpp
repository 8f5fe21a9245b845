#include "bindings/program/signals.hpp"

#include <unistd.h>

#include <csignal>
#include <cstring>

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

namespace {

char fault_message[200];

// Only what POSIX allows in a handler: no lock, no memory.
void end_at_fault(int signal) {
  [[maybe_unused]] auto written = write(STDERR_FILENO, fault_message, std::strlen(fault_message));
  handle(SIG_DFL, signal);
  raise(signal);
}

}  // namespace

FaultsEndProcess::FaultsEndProcess() {
  for (std::size_t i = 0; i < std::size(faults); ++i) {
    struct sigaction now {};
    ours_[i] = sigaction(faults[i], nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
  }
}

void FaultsEndProcess::begin(int rank) {
  std::string text = fmt::format(
      "kbcd: rank {} ends by a fault in the program: an error of kbcd or of a library that it uses. Please report it.\n",
      rank);
  text.copy(fault_message, sizeof fault_message - 1);
  static char stack[64 << 10];  // of its own: the fault may be that the stack is full
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = end_at_fault;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < std::size(faults); ++i)
    if (ours_[i]) sigaction(faults[i], &action, nullptr);
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
