// Where the time goes: seconds and calls of every primitive, and counters of what they computed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kbcd {

double now();  // seconds since the program started

// Adds the life of the object to the timer `name`. On the main thread only.
class Timer {
 public:
  explicit Timer(const char* name) : name_(name), start_(now()) {}
  ~Timer();
  Timer(const Timer&) = delete;

 private:
  const char* name_;
  double start_;
};

namespace timers {

struct Entry {
  std::string name;
  double seconds = 0;
  double calls = 0;
};

void add(const std::string& name, double seconds, double calls = 1);
void count(const std::string& name, double amount);  // safe inside parallel loops
std::vector<Entry> entries();                        // in order of name
double counter(const std::string& name);
std::vector<std::pair<std::string, double>> counters();
void reset();

}  // namespace timers
}  // namespace kbcd
