#include "core/timers.hpp"

#include <map>
#include <mutex>

namespace kbcd {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, timers::Entry> timers;
  std::map<std::string, double> counters;
};

Table& table() {
  static Table table;
  return table;
}

const auto start_of_program = std::chrono::steady_clock::now();

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_of_program).count();
}

Timer::~Timer() {
  timers::add(name_, now() - start_);
}

namespace timers {

void add(const std::string& name, double seconds, double calls) {
  std::lock_guard lock(table().mutex);
  auto& entry = table().timers[name];
  entry.name = name;
  entry.seconds += seconds;
  entry.calls += calls;
}

void count(const std::string& name, double amount) {
  std::lock_guard lock(table().mutex);
  table().counters[name] += amount;
}

std::vector<Entry> entries() {
  std::vector<Entry> all;
  for (auto& [name, entry] : table().timers) all.push_back(entry);
  return all;
}

double counter(const std::string& name) {
  auto it = table().counters.find(name);
  return it == table().counters.end() ? 0 : it->second;
}

std::vector<std::pair<std::string, double>> counters() {
  return {table().counters.begin(), table().counters.end()};
}

void reset() {
  table().timers.clear();
  table().counters.clear();
}

}  // namespace timers
}  // namespace kbcd
