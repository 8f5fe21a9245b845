#include "core/memory.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace kbcd {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t recycled_from = std::size_t{1} << 20;  // smaller buffers are left to malloc
// Huge pages save address look-ups where numbers are read many times. A block of gigabytes is read from end to end, and
// the kernel may need more time to find huge pages for it than the arithmetic takes.
constexpr std::size_t huge_page = std::size_t{2} << 20, huge_up_to = std::size_t{160} << 20;

std::size_t limit_bytes = 0;                                 // no limit: 0
constexpr std::size_t checked_from = std::size_t{64} << 20;  // the memory that is free is read from files of the system

struct Pool {
  struct Spare {
    void* data;
    std::size_t capacity;
  };
  std::mutex mutex;
  std::vector<Spare> spares;
  std::vector<Spare> held;  // released while there are holds; both belong to the main thread
  int holds = 0;
  std::size_t in_use = 0, spare_bytes = 0, most_in_use = 0;
  void (*hook)(std::size_t) = nullptr;
  std::thread::id main_thread = std::this_thread::get_id();

  void give_back(Spare buffer) {
    std::lock_guard lock(mutex);
    in_use -= buffer.capacity;
    if (buffer.capacity >= recycled_from) {
      spares.push_back(buffer);
      spare_bytes += buffer.capacity;
    } else {
      std::free(buffer.data);
    }
  }

  // Frees spare buffers, the longest unused first, until `bytes` more stay within the budget, or within the largest
  // amount ever in use; and in any case within the limit.
  void make_way(std::size_t bytes) {
    std::size_t most = std::max(most_in_use, memory::budget());
    if (limit_bytes > 0) most = std::min(most, limit_bytes);
    while (!spares.empty() && in_use + spare_bytes + bytes > most) free_one();
  }

  void free_one() {
    std::free(spares.front().data);
    spare_bytes -= spares.front().capacity;
    spares.erase(spares.begin());
  }

  // Whether so many more bytes are free, the spare ones included: the system promises more than it has, and kills who
  // uses it.
  bool fits(std::size_t bytes) {
    auto are_free = [&] {
      if (bytes < recycled_from) return true;
      if (memory::addresses_left() < bytes + memory::blas_addresses()) return false;
      return bytes < checked_from || bytes < memory::available();
    };
    while (!are_free()) {
      if (spares.empty()) return false;
      free_one();
    }
    return true;
  }
};

Pool& pool() {
  static Pool* pool = new Pool;  // never destroyed: buffers may outlive every static
  return *pool;
}

std::size_t& budget_bytes() {
  static std::size_t bytes = memory::available() / 2;
  return bytes;
}

std::size_t reserved_bytes = 0;

// What a file of the system says now. Its descriptor is kept, since the sandbox closes /proc and /sys.
std::istringstream text_of(const std::string& file) {
  static std::mutex mutex;
  static auto& descriptors = *new std::map<std::string, int>;
  std::lock_guard lock(mutex);
  auto found = descriptors.find(file);
  if (found == descriptors.end()) {
    int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return {};
    found = descriptors.emplace(file, descriptor).first;
  }
  std::string text(16 << 10, '\0');
  ssize_t length = pread(found->second, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return std::istringstream(text);
}

std::size_t number_after(const std::string& file, std::string_view key) {
  std::istringstream in = text_of(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  return 0;
}

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

std::size_t number_in(const std::string& file) {
  std::size_t value = 0;
  return text_of(file) >> value ? value : no_limit;  // "max", or no such file: no limit
}

// The memory that the control groups of this process leave it, if they limit it: unused, or in the file cache.
std::size_t left_by_groups() {
  std::istringstream in = text_of("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  std::size_t left = no_limit;
  for (; group.starts_with('/'); group.resize(group.rfind('/'))) {
    std::string folder = "/sys/fs/cgroup" + group;
    std::size_t most = number_in(folder + "/memory.max"), used = number_in(folder + "/memory.current");
    if (most == no_limit || used == no_limit) continue;
    std::size_t cached = std::min(used, number_after(folder + "/memory.stat", "inactive_file "));
    left = std::min(left, most - std::min(most, used - cached));
  }
  return left;
}

}  // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  auto& p = pool();
  memory::notify(bytes);
  std::lock_guard lock(p.mutex);
  auto best = p.spares.end();
  for (auto it = p.spares.begin(); it != p.spares.end(); ++it)
    if (it->capacity >= bytes && it->capacity <= 2 * bytes && (best == p.spares.end() || it->capacity < best->capacity))
      best = it;
  if (best != p.spares.end()) {
    data_ = best->data;
    capacity_ = best->capacity;
    p.spare_bytes -= capacity_;
    p.spares.erase(best);
  } else {
    std::size_t unit = bytes >= recycled_from && bytes <= huge_up_to ? huge_page : alignment;
    capacity_ = (bytes + unit - 1) / unit * unit;
    p.make_way(capacity_);
    require(limit_bytes == 0 || p.in_use + capacity_ <= limit_bytes,
            "out of memory: {} more bytes were asked for while {} are in use, and --limit-memory is {}", bytes,
            p.in_use, limit_bytes);
    if (p.fits(capacity_)) data_ = std::aligned_alloc(unit, capacity_);
    if (!data_)
      fail("out of memory: {} more bytes were asked for while {} are in use and {} are free", bytes, p.in_use,
           memory::available());
    if (unit == huge_page) madvise(data_, capacity_, MADV_HUGEPAGE);
  }
  p.in_use += capacity_;
  p.most_in_use = std::max(p.most_in_use, p.in_use);
}

Buffer::~Buffer() {
  if (data_) pool().give_back({data_, capacity_});
}

void Buffer::release() {
  if (!data_) return;
  auto& p = pool();
  if (p.holds > 0)
    p.held.push_back({data_, capacity_});
  else
    p.give_back({data_, capacity_});
  data_ = nullptr;
}

namespace memory {

Hold::Hold() {
  ++pool().holds;
}

Hold::~Hold() {
  auto& p = pool();
  if (--p.holds > 0) return;
  for (auto& spare : p.held) p.give_back(spare);
  p.held.clear();
}

void set_allocation_hook(void (*hook)(std::size_t)) {
  pool().hook = hook;
}

void notify(std::size_t bytes) {
  auto& p = pool();
  if (p.hook && std::this_thread::get_id() == p.main_thread && !omp_in_parallel()) p.hook(bytes);
}

std::size_t in_use() {
  return pool().in_use;
}

std::size_t resident_peak() {
  return number_after("/proc/self/status", "VmHWM:") << 10;
}

std::size_t addresses_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return no_limit;
  std::size_t used = number_after("/proc/self/status", "VmSize:") << 10;
  return limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, used);
}

std::size_t blas_addresses() {
  return omp_get_max_threads() * (std::size_t{136} << 20);
}

std::size_t available() {
  const char* file = "/proc/meminfo";
  std::size_t machine = (number_after(file, "MemAvailable:") + number_after(file, "SwapFree:")) << 10;
  return std::min({machine, left_by_groups(), addresses_left()});
}

std::size_t budget() {
  return budget_bytes();
}

void set_budget(std::size_t bytes) {
  budget_bytes() = bytes;
}

std::size_t limit() {
  return limit_bytes;
}

void set_limit(std::size_t bytes) {
  limit_bytes = bytes;
}

bool reserve(std::size_t bytes, std::size_t spare) {
  if (reserved_bytes + bytes + spare > budget()) return false;
  reserved_bytes += bytes;
  return true;
}

void unreserve(std::size_t bytes) {
  reserved_bytes -= bytes;
}

std::size_t reserved() {
  return reserved_bytes;
}

std::size_t parse_size(const char* what, std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, text.data() + text.size() - end);
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "K" || unit == "k") scale = 1 << 10;
  if (unit == "M" || unit == "m") scale = 1 << 20;
  if (unit == "G" || unit == "g") scale = 1 << 30;
  if (unit == "T" || unit == "t") scale = 1099511627776.0;
  double bytes = value * scale;
  require(error == std::errc{} && std::isfinite(bytes) && bytes >= 1 && bytes < 9e18,
          "{}: a size such as 200M or 8G expected, got '{}'", what, text);
  return static_cast<std::size_t>(bytes);
}

}  // namespace memory
}  // namespace kbcd
