// The Boost.Test program of all test_<x>.cpp, inside one MPI session. A failed rank fails the job.
#define BOOST_TEST_NO_MAIN
#include <omp.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "core/blas.hpp"
#include "core/comm.hpp"

int main(int argc, char** argv) {
  kbcd::comm::Session session(&argc, &argv);
  kbcd::blas::set_threads(std::max(1, omp_get_num_procs() / kbcd::comm::node_size()));
  int status = boost::unit_test::unit_test_main([] { return true; }, argc, argv);
  return static_cast<int>(kbcd::comm::allreduce(status, kbcd::comm::Reduction::max));
}
