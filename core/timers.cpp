#include "core/timers.hpp"

#include <atomic>
#include <map>
#include <mutex>

namespace kbcd {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, timers::Entry> timers;  // entries stay where they are
  std::map<std::string, double> counters;
  int depth = 0;         // timers that run now
  double outermost = 0;  // seconds of those that ran within no other
  double since = 0;      // the last reset
};

Table& table() {
  static Table table;
  return table;
}

std::atomic<double> operations_done = 0, bytes_sent = 0;

const auto start_of_program = std::chrono::steady_clock::now();

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_of_program).count();
}

namespace timers {

Entry& entry(const std::string& name) {
  std::lock_guard lock(table().mutex);
  auto& entry = table().timers[name];
  if (entry.name.empty()) entry.name = name;
  return entry;
}

Work work() {
  return {operations_done.load(std::memory_order_relaxed), bytes_sent.load(std::memory_order_relaxed)};
}

void operated(double count) {
  operations_done.fetch_add(count, std::memory_order_relaxed);
}

void sent(double bytes) {
  bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
}

Work begin() {
  ++table().depth;
  return work();
}

void end(Entry& entry, double seconds, const Work& before) {
  auto now = work();
  entry.seconds += seconds;
  entry.calls += 1;
  entry.work.operations += now.operations - before.operations;
  entry.work.bytes += now.bytes - before.bytes;
  if (--table().depth == 0) table().outermost += seconds;
}

void add(const std::string& name, double seconds, double calls) {
  auto& to = entry(name);
  to.seconds += seconds;
  to.calls += calls;
}

void count(const std::string& name, double amount) {
  std::lock_guard lock(table().mutex);
  table().counters[name] += amount;
}

std::vector<Entry> entries() {
  std::vector<Entry> all;
  for (auto& [name, entry] : table().timers)
    if (entry.calls > 0) all.push_back(entry);
  return all;
}

double counter(const std::string& name) {
  auto it = table().counters.find(name);
  return it == table().counters.end() ? 0 : it->second;
}

std::vector<std::pair<std::string, double>> counters() {
  return {table().counters.begin(), table().counters.end()};
}

double in_none() {
  return now() - table().since - table().outermost;
}

void reset() {
  for (auto& [name, entry] : table().timers) entry = {name, 0, 0, {}};
  table().counters.clear();
  table().outermost = 0;
  table().since = now();
}

}  // namespace timers
}  // namespace kbcd
