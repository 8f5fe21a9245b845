// Where the time goes: seconds, calls and work of every primitive, and counters of what they computed.
//
// Timers nest: each counts all of its time; the outermost ones together are the time that some timer accounts for. The
// work of a timer is all that was done while it ran, by any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kbcd {

double now();  // seconds since the program started

namespace timers {

// Floating-point operations of products, Grams, factors and solves, and bytes of the buffers that a rank gives to MPI.
struct Work {
  double operations = 0;
  double bytes = 0;
};

struct Entry {
  std::string name;
  double seconds = 0;
  double calls = 0;
  Work work;
};

Work work();                  // since the program started
void operated(double count);  // so many operations; safe inside parallel loops
void sent(double bytes);

Entry& entry(const std::string& name);  // its address stays the same for the life of the program

// Between the two, timers that begin are inner ones. On the main thread only. begin() gives what end() takes.
Work begin();
void end(Entry& entry, double seconds, const Work& before);

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
  explicit Timer(timers::Entry& entry) : entry_(entry), start_(now()), before_(timers::begin()) {}
  ~Timer() { timers::end(entry_, now() - start_, before_); }
  Timer(const Timer&) = delete;

 private:
  timers::Entry& entry_;
  double start_;
  timers::Work before_;
};

}  // namespace kbcd
