#include "core/limits.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/confine.hpp"
#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/timers.hpp"

namespace kbcd::limits {
namespace {

namespace fs = std::filesystem;

constexpr auto tick = std::chrono::milliseconds(50);
constexpr std::size_t least_file = 4096;

// Never destroyed: the thread runs to the end of the program.
Limits& limit = *new Limits;
std::vector<std::string>& watched = *new std::vector<std::string>;
std::function<void(const std::string&)>& end = *new std::function<void(const std::string&)>;
std::size_t used_before = 0;

std::string megabytes(std::size_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / (1 << 20));
}

void look_at_clock() {
  if (limit.seconds && now() > *limit.seconds)
    end(fmt::format("the limit of {:g} seconds is reached (--limit-seconds)", *limit.seconds));
}

std::size_t bytes_of(const struct stat& status) {
  return std::max<std::size_t>(least_file, static_cast<std::size_t>(status.st_blocks) * 512);
}

// Files that have been removed and are still open take their space, too.
std::size_t removed_files() {
  std::size_t sum = 0;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  for (int descriptor = 3; descriptor < static_cast<int>(std::min<rlim_t>(files.rlim_cur, 4096)); ++descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0) sum += bytes_of(status);
  }
  return sum;
}

std::size_t all_use() {
  std::size_t sum = removed_files();
  for (auto& folder : watched) sum += disk_use(folder);
  return sum;
}

void look_at_disk() {
  if (!limit.disk) return;
  std::size_t used = all_use(), grown = used > used_before ? used - used_before : 0;
  if (grown > *limit.disk)
    end(fmt::format("files have grown by {}, and the limit is {} (--limit-disk)", megabytes(grown),
                    megabytes(*limit.disk)));
}

void watch() {
  pthread_setname_np(pthread_self(), "kbcd limits");
  for (;;) {
    double start = now();
    look_at_clock();
    look_at_disk();
    // No more than half of a core, however many files there are.
    std::this_thread::sleep_for(
        std::max(std::chrono::duration<double>(tick), std::chrono::duration<double>(now() - start)));
  }
}

// Never above what the process has been given.
void set_limit(int resource, std::size_t bytes) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(resource), &now);
  now.rlim_max = std::min<rlim_t>(now.rlim_max, bytes);
  now.rlim_cur = now.rlim_max;
  setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

// What the process has of the memory that RLIMIT_DATA counts.
std::size_t data_of_process() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmData:")) return std::stoull(line.substr(7)) << 10;
  fail("--limit-memory: /proc/self/status, which says what the program has, cannot be read");
}

}  // namespace

std::size_t disk_use(const std::string& folder) {
  auto options = fs::directory_options::skip_permission_denied;
  for (int tries = 1;; ++tries) {
    std::size_t sum = 0, seen = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, options, error), last; !error && it != last; it.increment(error)) {
      struct stat status {};
      if (lstat(it->path().c_str(), &status) == 0) sum += bytes_of(status);
      if (++seen % 1024 == 0) look_at_clock();
    }
    if (!error || tries == 3) return sum;  // an error: a folder was removed meanwhile
  }
}

void set(const Limits& limits, std::vector<std::string> folders, std::function<void(const std::string&)> end_job) {
  limit = limits;
  watched = std::move(folders);
  end = std::move(end_job);
  if (limit.memory) {
#pragma omp parallel  // so that the threads, with their stacks, exist before
    {}
    memory::set_limit(*limit.memory);
    set_limit(RLIMIT_DATA, data_of_process() + *limit.memory);
  }
  if (limit.seconds) {  // in case the thread cannot: the kernel counts the seconds of all cores
    auto cores = static_cast<double>(omp_get_max_threads() + 2);
    set_limit(RLIMIT_CPU, static_cast<std::size_t>(std::ceil(*limit.seconds * cores)) + 10);
  }
  if (limit.disk) {
    set_limit(RLIMIT_FSIZE, *limit.disk);
    used_before = all_use();
  }
  if (!limit.seconds && !limit.disk) return;
  sigset_t every, before;  // signals are for the main thread
  sigfillset(&every);
  sigdelset(&every, confine::signal_of_threads());
  pthread_sigmask(SIG_SETMASK, &every, &before);
  std::thread(watch).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace kbcd::limits
