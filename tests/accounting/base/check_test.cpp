#define BOOST_TEST_MODULE check
#include <boost/test/unit_test.hpp>

#include "accounting/base/check.hpp"

#include "tests/support/dying.hpp"

BOOST_AUTO_TEST_CASE(a_check_that_holds_does_nothing) { ALLOT_CHECK(1 + 1 == 2, "arithmetic"); }

BOOST_AUTO_TEST_CASE(a_check_that_fails_names_the_place_and_the_reason_and_aborts) {
    death d = death_of([] { ALLOT_CHECK(1 + 1 == 3, "two and two"); });
    BOOST_TEST(d.signal == SIGABRT);
    BOOST_TEST(d.message.find("check_test.cpp:") != std::string::npos, d.message);
    BOOST_TEST(d.message.find("does not hold: two and two\n") != std::string::npos, d.message);
}
