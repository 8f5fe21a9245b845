// Calls that the ranks compare: the message when they differ, which is the same on all ranks, and that they can
// continue.
#include "core/check.hpp"

#include <boost/test/unit_test.hpp>

#include "core/board.hpp"
#include "core/comm.hpp"
#include "core/error.hpp"
#include "tests/support/messages.hpp"

namespace kbcd::tests {
namespace {

std::string told(const std::vector<Call>& calls) {
  return difference(calls);
}

std::string site_here() {
  return "inner.lua:3\nmiddle.lua:2\nscript.lua:1";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(check)

BOOST_AUTO_TEST_CASE(ranks_are_listed_in_ranges) {
  BOOST_TEST(list_ranks({4}) == "rank 4");
  BOOST_TEST(list_ranks({0, 2}) == "ranks 0, 2");
  BOOST_TEST(list_ranks({0, 1}) == "ranks 0, 1");
  BOOST_TEST(list_ranks({0, 1, 2, 5, 7, 8, 9}) == "ranks 0-2, 5, 7-9");
}

BOOST_AUTO_TEST_CASE(calls_are_the_same_but_for_their_notes) {
  Call call{"allreduce", "2x3 f64", "x.lua:1"};
  BOOST_TEST(call.hash() == (Call{"allreduce", "2x3 f64", "x.lua:1", "a note"}.hash()));
  BOOST_TEST(call.hash() != (Call{"iallreduce", "2x3 f64", "x.lua:1"}.hash()));
  BOOST_TEST(call.hash() != (Call{"allreduce", "2x3 f32", "x.lua:1"}.hash()));
  BOOST_TEST(call.hash() != (Call{"allreduce", "2x3 f64", "x.lua:2"}.hash()));
}

BOOST_AUTO_TEST_CASE(packed_calls_have_a_fixed_width) {
  for (std::size_t length : {0, 1, 5000}) {
    Call call{"gather", std::string(length, 'd'), "a:1\nb:2\nc:3", std::string(length, 'n')};
    std::string packed = pack(call);
    BOOST_TEST(packed.size() == call_width);
    Call back = unpack_call(packed.data());
    BOOST_TEST(back.operation == "gather");
    BOOST_TEST(back.sites == "a:1\nc:3");
    BOOST_TEST((call.details.starts_with(back.details) && call.note.starts_with(back.note)));
    BOOST_TEST(back.details.empty() == (length == 0));
  }
}

BOOST_AUTO_TEST_CASE(differences_are_told_by_groups) {
  Call a{"allreduce", "2x3 f64", "x.lua:1"}, b{"allreduce", "2x4 f64", "x.lua:1"}, end{end_of_script_name, "", ""};
  std::string shapes = told({a, a, b, a});
  BOOST_TEST(has(shapes, "ranks 0, 1, 3 are at x.lua:1: allreduce of 2x3 f64\n"));
  BOOST_TEST(has(shapes, "rank 2 is at x.lua:1: allreduce of 2x4 f64\n"));
  BOOST_TEST(has(shapes, "shapes and types"));
  std::string ended = told({end, a, end});
  BOOST_TEST(has(ended, "ranks 0, 2 have reached the end of the script\n"));
  BOOST_TEST(has(ended, "rank 1 is at x.lua:1: allreduce"));
  BOOST_TEST(has(ended, "in the same order"));
  Call failed{"the end of the line", "", "", "it failed: why"};
  BOOST_TEST(has(told({a, failed}), "rank 1 is at the end of the line (it failed: why)"));
}

BOOST_AUTO_TEST_CASE(every_rank_fails_and_all_can_go_on) {
  int rank = comm::rank(), size = comm::size();
  if (size == 1) return;
  comm::set_call_sites(&site_here);
  for (int other = 0; other < size; ++other) {
    std::string message;
    try {
      if (rank == other)
        comm::barrier();
      else
        comm::allreduce(std::vector<Matrix>{Matrix::zeros(2, 3)});
    } catch (const Error& e) {
      message = e.what();
    }
    BOOST_TEST(has(message, "rank " + std::to_string(other) + " is at inner.lua:3 (called at script.lua:1): barrier"));
    BOOST_TEST(has(message, "allreduce of 2x3 f64"));
    BOOST_TEST(comm::allreduce(1, comm::Reduction::sum) == size);
  }
  // Those that are elsewhere fail; the one that waits for them does not.
  if (rank > 0) {
    BOOST_CHECK_THROW(comm::barrier(), Error);
    BOOST_CHECK_THROW(comm::bcast({Matrix::zeros(1, 1)}, 0), Error);
  }
  comm::meet("the meeting", "");
  auto before = board::calls();
  comm::set_checking(false);
  comm::barrier();
  BOOST_TEST(board::calls() == before);
  comm::set_checking(true);
  comm::set_call_sites(nullptr);
  comm::barrier();
  BOOST_TEST(board::calls() == before + 1);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
