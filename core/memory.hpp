// Large numeric buffers: aligned, counted, recycled; and the memory budget of blocks.
//
// A freed buffer is kept for the next one of about its size (fresh pages cost more than the arithmetic on
// them), as long as the total does not exceed both the budget and the largest amount ever in use at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace kbcd {

class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool released() const { return data_ == nullptr && bytes_ != 0; }
  void release();  // gives the memory back; every view of it becomes unusable

 private:
  std::size_t bytes_;
  std::size_t capacity_ = 0;
  void* data_ = nullptr;
};

namespace memory {

// While one lives, released memory is kept: a function that calls Lua back (a kernel, a map …) may hold pointers to it.
class Hold {
 public:
  Hold();
  ~Hold();
  Hold(const Hold&) = delete;
};

// Called on the main thread with the size of each new buffer, so that Lua can pace its garbage collector.
void set_allocation_hook(void (*hook)(std::size_t bytes));
void notify(std::size_t bytes);  // calls the hook for memory that is no Buffer

std::size_t in_use();         // bytes in live buffers
std::size_t resident_peak();  // the largest resident set of this process so far, in bytes
std::size_t available();      // memory that is free here, or that a cgroup or ulimit leaves, in bytes

// What `ulimit -v` leaves of the addresses, in bytes, and what OpenBLAS may need of them for its buffers: it tries for
// ever to allocate one, so our own buffers leave it room.
std::size_t addresses_left();
std::size_t blas_addresses();

std::size_t budget();  // bytes that blocks, Grams and factors kept by this process may take together
void set_budget(std::size_t bytes);
std::size_t limit();  // --limit-memory: beyond it, buffers are refused; 0: no limit
void set_limit(std::size_t bytes);
// Reserves `bytes` of the budget, if these and `spare` more bytes are left of it.
bool reserve(std::size_t bytes, std::size_t spare = 0);
void unreserve(std::size_t bytes);
std::size_t reserved();

std::size_t parse_size(const char* what, std::string_view text);  // "200M", "8G", "1.5g", "4096"

}  // namespace memory
}  // namespace kbcd
