// What the ranks of one machine know of each other without messages: whether each is alive, and where it is.
//
// Every rank has a slot in shared memory. A thread of each rank updates its slot ten times a second (the heartbeat),
// however long the rank computes, and watches the others: a rank without a heartbeat was stopped or has died, and the
// job ends. The thread also reports where a rank waits long for others, and ends the job after an interrupt that the
// script does not notice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace kbcd::board {

// Written by its rank, read by all ranks of the machine.
struct Slot {
  enum State : int { computes, waits, left };
  enum Claim : int { none, asked, granted, denied };  // whether this host is the one that reports a failure
  std::atomic<int> failures{0}, claim{none}, state{computes}, rank{0}, pid{0};
  std::atomic<std::uint64_t> beats{0}, calls{0};
  std::array<std::atomic<std::uint64_t>, 32> place{};  // the text of the last call

  void set_place(const std::string& text);
  std::string get_place() const;
};

// Starts the heartbeat in slots[mine] and watches the others; the thread calls end_job(message, status), and each_tick
// ten times a second, with whether it was paused since the last time. host is the machine's name where a job has
// several.
constexpr int ticks_per_second = 10;
struct Watch {
  std::function<void(const std::string& message, int status)> end_job;
  std::function<void(bool slept)> each_tick = {};
  std::string host = {};
};
void start(Slot* slots, int count, int mine, Watch watch);
void stop();
bool on_watch_thread();

// After how many seconds without a heartbeat a rank ends the job, and after how many a wait is reported; 0: never.
void set_patience(double seconds);
double get_patience();

void begin_call(const std::string& place);  // this rank waits for the others, in this call
void end_call();
std::uint64_t calls();  // how many there were

// For a signal handler: ends the job unless the program ends by itself within a moment.
void interrupt(int signal);
int interrupted();  // the signal, or 0

void signal_all(int signal);     // sends it to every rank of this machine
void signal_others(int signal);  // all but this one

std::string picture();  // where the ranks of this machine are, a line for each

}  // namespace kbcd::board
