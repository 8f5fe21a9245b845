// cos_of_turns against the C library's cosine in f64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/turns.hpp"

using namespace kbcd;

BOOST_AUTO_TEST_SUITE(turns)

BOOST_AUTO_TEST_CASE(cosine_as_the_library) {
  for (double t = -40; t < 40; t += 0.00371) {
    auto f = static_cast<float>(t);
    double fraction = static_cast<double>(f) - std::round(static_cast<double>(f));
    BOOST_CHECK_SMALL(cos_of_turns(f) - std::cos(2 * std::numbers::pi * fraction), 3e-7);
    BOOST_CHECK_SMALL(cos_of_turns(t) - std::cos(2 * std::numbers::pi * (t - std::round(t))), 1e-15);
  }
}

BOOST_AUTO_TEST_CASE(far_out_it_stays_a_cosine) {
  for (float t : {1e6f, 4194305.f, 1e9f, -3e20f, 3e38f}) BOOST_CHECK_LE(std::abs(cos_of_turns(t)), 1.0001f);
  BOOST_CHECK(std::isnan(cos_of_turns(std::numeric_limits<float>::infinity())));
  BOOST_CHECK(std::isnan(cos_of_turns(std::numeric_limits<double>::quiet_NaN())));
}

BOOST_AUTO_TEST_SUITE_END()
