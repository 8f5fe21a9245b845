// What the ranks of one machine see of each other without a message: signs of life, and where each of them is.
//
// Every rank has a slot in memory that they share. A thread of its own lets its slot beat ten times a second, however
// long the rank computes, and looks at the others: one that does not beat was stopped or is gone, and ends the job. It
// also tells where a rank waits for others for long, and ends the job after an interrupt that the script does not
// notice.
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
  std::atomic<int> failures{0}, state{computes}, rank{0}, pid{0};
  std::atomic<std::uint64_t> beats{0}, calls{0};
  std::array<std::atomic<std::uint64_t>, 32> place{};  // the text of the last call

  void set_place(const std::string& text);
  std::string get_place() const;
};

// Begins to beat in slots[mine] and to watch the others; end_job(message, status) is called by the thread.
void start(Slot* slots, int count, int mine, std::function<void(const std::string& message, int status)> end_job);
void stop();

// How many seconds a rank may give no sign of life, and after how many a wait is told; 0: for ever.
void set_patience(double seconds);

void begin_call(const std::string& place);  // this rank waits for the others, in this call
void end_call();
std::uint64_t calls();  // how many there were

// For a signal handler: unless the program ends by itself within a moment, the job is ended.
void interrupt(int signal);
int interrupted();  // the signal, or 0

std::string picture();  // where the ranks of this machine are, a line for each

}  // namespace kbcd::board
