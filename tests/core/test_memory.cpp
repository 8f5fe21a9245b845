// Buffers (alignment, accounting, recycling, release), the budget, and sizes as text.
#include "core/memory.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <vector>

#include "tests/support/reference.hpp"

namespace kbcd::tests {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

std::vector<std::size_t> announced;  // the arguments of the allocation hook

struct Hook {
  Hook() {
    announced.clear();
    kbcd::memory::set_allocation_hook([](std::size_t bytes) { announced.push_back(bytes); });
  }
  ~Hook() { kbcd::memory::set_allocation_hook(nullptr); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(sizes_as_text) {
  using kbcd::memory::parse_size;
  BOOST_TEST(parse_size("test", "4096") == 4096);
  BOOST_TEST(parse_size("test", "1") == 1);
  BOOST_TEST(parse_size("test", "2K") == 2048);
  BOOST_TEST(parse_size("test", "2k") == 2048);
  BOOST_TEST(parse_size("test", "200M") == 200 * mega);
  BOOST_TEST(parse_size("test", "1.5g") == 1536 * mega);
  BOOST_TEST(parse_size("test", "8G") == 8192 * mega);
  BOOST_TEST(parse_size("test", "2T") == 2 * 1024 * 1024 * mega);
  for (const char* bad : {"", "M", "G8", "-1", "-5M", "0", "0.2", "nan", "inf", "infM", "1e30", "99999999T", "5X",
                          "5MB", "5 M", " 5M", "5M ", "0x10", "1,5G"})
    BOOST_CHECK_EXCEPTION(parse_size("test", bad), Error, mentions("'" + std::string(bad) + "'"));
}

BOOST_AUTO_TEST_CASE(buffers_are_aligned_and_counted) {
  std::size_t before = kbcd::memory::in_use();
  for (std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{1000}, mega, 3 * mega + 5}) {
    Buffer buffer(bytes);
    BOOST_TEST(buffer.bytes() == bytes);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    BOOST_TEST(kbcd::memory::in_use() >= before + bytes);
    BOOST_TEST(kbcd::memory::in_use() <= before + 2 * bytes + 64);
    std::memset(buffer.data(), 0xab, bytes);
  }
  BOOST_TEST(kbcd::memory::in_use() == before);
}

BOOST_AUTO_TEST_CASE(an_empty_buffer_is_not_a_released_one) {
  Buffer none(0), some(8);
  BOOST_TEST(!none.released());
  BOOST_TEST(!some.released());
  some.release();
  some.release();
  BOOST_TEST(some.released());
}

BOOST_AUTO_TEST_CASE(release_gives_the_memory_back_at_once) {
  std::size_t before = kbcd::memory::in_use();
  Buffer buffer(5 * mega);
  buffer.release();
  BOOST_TEST(kbcd::memory::in_use() == before);
}

// Buffers come and go in all sizes around the recycling limit; no two that live at once may share a byte.
BOOST_AUTO_TEST_CASE(live_buffers_never_overlap) {
  std::mt19937 engine(1);
  struct Marked {
    std::unique_ptr<Buffer> buffer;
    unsigned char mark;
  };
  std::vector<Marked> live;
  std::size_t before = kbcd::memory::in_use();
  auto intact = [](const Marked& m) {
    auto* p = static_cast<unsigned char*>(m.buffer->data());
    for (std::size_t i = 0; i < m.buffer->bytes(); i += 997)
      if (p[i] != m.mark) return false;
    return p[m.buffer->bytes() - 1] == m.mark;
  };
  for (int step = 0; step < 300; ++step) {
    if (live.size() > 6) {
      std::size_t victim = engine() % live.size();
      BOOST_REQUIRE(intact(live[victim]));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    auto buffer = std::make_unique<Buffer>(mega / 2 + engine() % (3 * mega));
    auto mark = static_cast<unsigned char>(step);
    std::memset(buffer->data(), mark, buffer->bytes());
    live.push_back({std::move(buffer), mark});
  }
  for (auto& m : live) BOOST_TEST(intact(m));
  live.clear();
  BOOST_TEST(kbcd::memory::in_use() == before);
}

BOOST_AUTO_TEST_CASE(a_matrix_lives_as_long_as_its_last_view) {
  std::size_t before = kbcd::memory::in_use();
  Matrix view;
  {
    Matrix m = Matrix::zeros(1000, 300);
    view = m.row_block(2, 1).t();
  }
  BOOST_TEST(kbcd::memory::in_use() >= before + 1000 * 300 * 8);
  BOOST_TEST(view.get(299, 0) == 0);
  view = Matrix();
  BOOST_TEST(kbcd::memory::in_use() == before);
}

BOOST_AUTO_TEST_CASE(more_than_there_is_is_an_error_and_changes_nothing) {
  std::size_t before = kbcd::memory::in_use();
  BOOST_CHECK_EXCEPTION(Buffer(std::size_t{1} << 48), Error, mentions("out of memory"));
  BOOST_TEST(kbcd::memory::in_use() == before);
  Buffer still_works(100);
}

BOOST_AUTO_TEST_CASE(the_hook_hears_of_every_buffer) {
  Hook hook;
  Buffer a(100), none(0);
  Matrix m(10, 10, DType::f32);
  BOOST_TEST(announced == (std::vector<std::size_t>{100, 400}));
}

BOOST_AUTO_TEST_CASE(the_budget_is_what_was_set) {
  std::size_t before = kbcd::memory::budget();
  kbcd::memory::set_budget(12345);
  BOOST_TEST(kbcd::memory::budget() == 12345);
  kbcd::memory::set_budget(before);
  BOOST_TEST(before > 0);
}

BOOST_AUTO_TEST_CASE(the_machine_is_asked_for_its_memory) {
  BOOST_TEST(kbcd::memory::available() > mega);
  std::size_t before = kbcd::memory::resident_peak();
  BOOST_TEST(before > mega);
  std::size_t more = before + 16 * mega;
  Buffer buffer(more);
  std::memset(buffer.data(), 1, more);
  BOOST_TEST(kbcd::memory::resident_peak() >= more);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
