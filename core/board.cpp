#include "core/board.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "core/check.hpp"
#include "core/confine.hpp"

namespace kbcd::board {
namespace {

constexpr const char* thread_name = "kbcd watch";  // for ps and top: a rank that has it has joined its job
constexpr auto tick = std::chrono::milliseconds(1000 / ticks_per_second);
constexpr int moment = 3;  // ticks that an interrupted script has to end by itself

Slot alone;  // before start() and after stop()
Slot* all = &alone;
int slots = 1, here = 0;
std::thread* thread = nullptr;
std::mutex mutex;
std::condition_variable wake;  // before its next tick, when it is to stop
Watch job;
std::atomic<bool> stopping{false};
std::atomic<int> signal_seen{0};
std::atomic<double> patience{10};

Slot& mine() {
  return all[here];
}

// The state of a process in the system: 'T' is stopped, 'Z' and 0 have ended; '?' where /proc is closed (confine.hpp).
char process_state(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  if (!file && errno == EACCES) return '?';
  std::string line;
  if (!std::getline(file, line)) return 0;
  auto name_end = line.rfind(')');
  return name_end + 2 < line.size() ? line[name_end + 2] : 0;
}

std::string whereabouts(const Slot& slot) {
  if (slot.state == Slot::left) return "has left";
  std::string place = slot.get_place(), last = place.empty() ? "" : "; its last call of the others was " + place;
  char state = process_state(slot.pid);
  if (state == 0 || state == 'Z' || state == 'X') return "is gone: something killed it" + last;
  if (state == 'T' || state == 't') return "is stopped" + last;
  return slot.state == Slot::waits ? "waits for the others at " + place : "computes" + last;
}

std::string name(const Slot& slot) {
  return fmt::format("rank {}{}{}", slot.rank.load(), job.host.empty() ? "" : " on host ", job.host);
}

struct Watcher {
  std::vector<std::uint64_t> beats = std::vector<std::uint64_t>(slots);
  std::vector<int> silent = std::vector<int>(slots);  // ticks without a beat
  std::uint64_t call = 0, reported = 0;  // that this rank waits in, for `waiting` ticks; the last one reported
  int waiting = 0, since_interrupt = 0;
  double report_after = 0;  // doubles with each wait that was reported

  static double ticks(double seconds) { return seconds * 1000 / static_cast<double>(tick.count()); }

  void look_at_interrupt() {
    if (!signal_seen || ++since_interrupt < moment) return;
    job.end_job(fmt::format("interrupted by signal {}\n{}", signal_seen.load(), picture()), 128 + signal_seen);
  }

  void look_for_beats() {
    for (int i = 0; i < slots; ++i) {
      std::uint64_t seen = all[i].beats;
      bool alive = i == here || seen != beats[i] || all[i].state == Slot::left;
      silent[i] = alive ? 0 : silent[i] + 1;
      beats[i] = seen;
      if (patience == 0 || silent[i] <= ticks(patience)) continue;
      job.end_job(fmt::format("{} (process {}) has given no sign of life for {:g} seconds, and the job ends:\n{}\n"
                              "--patience SECONDS sets how long is waited, 0 for ever.",
                              name(all[i]), all[i].pid.load(), patience.load(), picture()),
                  1);
    }
  }

  // The first of the waiting ranks reports for whom it waits, once for each call.
  void look_for_long_wait() {
    bool same = mine().state == Slot::waits && mine().calls == call;
    waiting = same ? waiting + 1 : 0;
    call = mine().calls;
    if (report_after < patience) report_after = patience;
    if (patience == 0 || call == reported || waiting <= ticks(report_after)) return;
    for (int i = 0; i < here; ++i)
      if (all[i].state == Slot::waits) return;
    std::fprintf(stderr, "kbcd: some ranks have waited for others for %g seconds:\n%s\n", report_after,
                 picture().c_str());
    report_after *= 2;
    reported = call;
  }
};

void watch() {
  pthread_setname_np(pthread_self(), thread_name);
  Watcher watcher;
  for (auto before = std::chrono::steady_clock::now(); !stopping;) {
    {
      std::unique_lock lock(mutex);
      if (wake.wait_for(lock, tick, [] { return stopping.load(); })) return;
    }
    mine().beats.fetch_add(1);
    watcher.look_at_interrupt();
    // If this thread itself was paused, a missing heartbeat proves nothing: the whole machine may have slept.
    auto now = std::chrono::steady_clock::now();
    bool slept = now - before > 10 * tick;
    if (slept) std::fill(watcher.silent.begin(), watcher.silent.end(), 0);
    before = now;
    watcher.look_for_beats();
    watcher.look_for_long_wait();
    if (job.each_tick) job.each_tick(slept);
  }
}

}  // namespace

void Slot::set_place(const std::string& text) {
  std::array<std::uint64_t, std::tuple_size_v<decltype(place)>> words{};
  std::memcpy(words.data(), text.data(), std::min(text.size(), sizeof words - 1));
  for (std::size_t i = 0; i < words.size(); ++i) place[i].store(words[i], std::memory_order_relaxed);
}

std::string Slot::get_place() const {
  std::array<std::uint64_t, std::tuple_size_v<decltype(place)>> words{};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] = place[i].load(std::memory_order_relaxed);
  return reinterpret_cast<const char*>(words.data());
}

void start(Slot* shared, int count, int own, Watch watch_of_job) {
  all = shared;
  slots = count;
  here = own;
  job = std::move(watch_of_job);
  stopping = false;
  sigset_t every, before;  // signals are for the main thread
  sigfillset(&every);
  sigdelset(&every, confine::signal_of_threads());
  pthread_sigmask(SIG_SETMASK, &every, &before);
  thread = new std::thread(watch);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_one();
  mine().state = Slot::left;
  thread->join();
  delete thread;
  thread = nullptr;
  all = &alone;
  slots = 1;
  here = 0;
}

bool on_watch_thread() {
  return thread && thread->get_id() == std::this_thread::get_id();
}

void set_patience(double seconds) {
  patience = seconds;
}

double get_patience() {
  return patience;
}

void begin_call(const std::string& place) {
  mine().set_place(place);
  mine().calls.fetch_add(1);
  mine().state = Slot::waits;
}

void end_call() {
  mine().state = Slot::computes;
}

std::uint64_t calls() {
  return mine().calls;
}

void interrupt(int signal) {
  signal_seen = signal;
}

int interrupted() {
  return signal_seen;
}

void signal_others(int signal) {
  for (int i = 0; i < slots; ++i)
    if (int pid = all[i].pid; i != here && pid > 0 && all[i].state != Slot::left) kill(pid, signal);
}

void signal_all(int signal) {
  signal_others(signal);
  if (mine().pid > 0 && mine().state != Slot::left) kill(mine().pid, signal);
}

std::string picture() {
  std::string text;
  for (int i = 0; i < slots; ++i) text += fmt::format("{}  {} {}", i ? "\n" : "", name(all[i]), whereabouts(all[i]));
  return text;
}

}  // namespace kbcd::board
