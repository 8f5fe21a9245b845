#include "bindings/program/signals.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "bindings/glue/def.hpp"
#include "core/board.hpp"
#include "core/comm.hpp"

namespace kbcd::lua {
namespace {

lua_State* stopped_state = nullptr;
const pthread_t main_thread = pthread_self();  // the initialisation of the program's globals runs there
volatile std::sig_atomic_t noted_signal = 0, was_stopped = 0;
std::array<std::atomic<bool>, NSIG> recorded{};
std::atomic<bool> stop_seen{false};
std::atomic<int> interrupts{0};  // SIGUSR1 that came in this session
std::array<int, 2> wake_pipe{-1, -1};

// mpirun forwards SIGUSR1 to the ranks.
constexpr int stop_signals[] = {SIGTERM, SIGINT, SIGUSR1};
// At the prompt of several ranks, rank 0 stops them all by the second.
constexpr int interrupt_signals[] = {SIGINT, SIGUSR1};

struct sigaction handle(void (*handler)(int), int signal, int flags = 0) {
  struct sigaction action {
  }, before{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, &before);
  return before;
}

// The system may choose any thread for a signal; whether the main thread has it now.
bool is_for_this_thread(int signal) {
  if (pthread_equal(pthread_self(), main_thread)) return true;
  pthread_kill(main_thread, signal);
  return false;
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

void stop_lua(int signal) {
  if (!is_for_this_thread(signal)) return;
  if (signal == SIGUSR1) ++interrupts;
  was_stopped = 1;
  stop_seen = true;
  lua_sethook(stopped_state, stop_here, LUA_MASKCOUNT, 1);
}

void stop_script(int signal) {
  if (!is_for_this_thread(signal)) return;
  next_one_ends();
  board::interrupt(signal);
  lua_sethook(stopped_state, stop_here, LUA_MASKCOUNT, 1);
}

void note(int signal) {
  if (!is_for_this_thread(signal)) return;
  next_one_ends();
  noted_signal = signal;
}

void record(int signal) {
  if (!is_for_this_thread(signal)) return;
  if (signal == SIGUSR1) ++interrupts;
  recorded[static_cast<std::size_t>(signal)] = true;
  int error = errno;
  wake();
  errno = error;
}

void stop_script_by_signals() {
  next_one_ends();
  for (int signal : {SIGTERM, SIGINT}) handle(stop_script, signal);
}

// xpcall(f, handler) with Ctrl-C as an error inside it.
int call_interruptibly(lua_State* L) {
  lua_settop(L, 2);
  lua_insert(L, 1);
  stopped_state = L;
  was_stopped = 0;
  bool failed_before = std::ferror(stdout);
  struct sigaction before[std::size(interrupt_signals)];
  for (std::size_t i = 0; i < std::size(before); ++i) before[i] = handle(stop_lua, interrupt_signals[i]);
  if (take_signal(SIGINT) | take_signal(SIGUSR1)) raise(SIGINT);  // it came since the line was typed
  int status = lua_pcall(L, 0, LUA_MULTRET, 1);
  for (std::size_t i = 0; i < std::size(before); ++i) sigaction(interrupt_signals[i], &before[i], nullptr);
  lua_sethook(L, nullptr, 0, 0);
  if (was_stopped && !failed_before) std::clearerr(stdout);  // the signal stopped a write, too: the disk is not full
  lua_pushboolean(L, status == 0);
  lua_replace(L, 1);
  return lua_gettop(L);
}

// Waits, for a moment at most, until so many SIGUSR1 of this session have come: they belong to lines before this one.
// One that came beyond them is for this line.
void settle(int sent) {
  for (int i = 0; i < 1000 && interrupts < sent; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (interrupts <= sent) take_signal(SIGUSR1);
  if (comm::rank() != 0) take_signal(SIGINT);
}

}  // namespace

SignalsStopScript::SignalsStopScript(lua_State* L) {
  stopped_state = L;
  stop_script_by_signals();
}

SignalsStopScript::~SignalsStopScript() {
  next_one_ends();
}

SignalsRecorded::SignalsRecorded(std::initializer_list<int> signals) {
  for (int signal : signals) {
    recorded[static_cast<std::size_t>(signal)] = false;
    before_.emplace_back(signal, handle(record, signal, SA_RESTART));
  }
}

SignalsRecorded::~SignalsRecorded() {
  for (auto& [signal, action] : before_) sigaction(signal, &action, nullptr);
}

bool take_signal(int signal) {
  return recorded[static_cast<std::size_t>(signal)].exchange(false);
}

bool take_stop() {
  return stop_seen.exchange(false);
}

int wake_descriptor() {
  if (wake_pipe[0] < 0)
    require(pipe2(wake_pipe.data(), O_NONBLOCK | O_CLOEXEC) == 0, "the prompt: no pipe could be made: {}",
            std::strerror(errno));
  return wake_pipe[0];
}

void wake() {
  if (wake_pipe[1] >= 0) [[maybe_unused]]
    auto written = write(wake_pipe[1], "", 1);  // a full pipe wakes as well
}

void clear_wake() {
  char bytes[64];
  while (read(wake_descriptor(), bytes, sizeof bytes) > 0) {
  }
}

void bind_signals(sol::table signals) {
  // From now on the first SIGTERM, SIGINT or SIGUSR1 is only recorded, for the script to check; `false`: no longer.
  signals["note_stop_signals"] = [](bool noting) {
    if (!noting) return stop_script_by_signals();
    for (int signal : stop_signals) handle(note, signal);
  };
  signals["stop_signal"] = [] { return static_cast<int>(noted_signal); };  // its number, or 0
  lua_pushcfunction(signals.lua_state(), &call_interruptibly);  // no call of a primitive, but a whole line of a script
  signals["interruptible"] = sol::stack::pop<sol::object>(signals.lua_state());
  // From now on Ctrl-C ends nothing: the session is a person's.
  signals["keep_session"] = [] {
    wake_descriptor();
    for (int signal : interrupt_signals) handle(record, signal, SA_RESTART);
  };
  signals["settle"] = &settle;
}

}  // namespace kbcd::lua
