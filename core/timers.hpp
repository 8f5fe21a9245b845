// Where the time goes: seconds and calls of every primitive, and counters of what they computed.
//
// Timers nest: each counts all of its time; the outermost ones together are the time that some timer accounts for.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kbcd {

double now();  // seconds since the program started

namespace timers {

struct Entry {
  std::string name;
  double seconds = 0;
  double calls = 0;
};

Entry& entry(const std::string& name);  // its address stays the same for the life of the program

// Between the two, timers that begin are inner ones. On the main thread only.
void begin();
void end(Entry& entry, double seconds);

void add(const std::string& name, double seconds, double calls = 1);  // as of an inner timer
void count(const std::string& name, double amount);                   // safe inside parallel loops
std::vector<Entry> entries();                                         // of those that were called, in order of name
double counter(const std::string& name);
std::vector<std::pair<std::string, double>> counters();
double in_none();  // seconds since the last reset (or the start) in no timer
void reset();

}  // namespace timers

// Adds the life of the object to the timer `name`. On the main thread only.
class Timer {
 public:
  explicit Timer(const char* name) : Timer(timers::entry(name)) {}
  explicit Timer(timers::Entry& entry) : entry_(entry), start_(now()) { timers::begin(); }
  ~Timer() { timers::end(entry_, now() - start_); }
  Timer(const Timer&) = delete;

 private:
  timers::Entry& entry_;
  double start_;
};

}  // namespace kbcd
