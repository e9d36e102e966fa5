#define BOOST_TEST_MODULE reclaim
#include <boost/test/unit_test.hpp>

#include "accounting/reclaim.hpp"

#include "tests/support/verified.hpp"

using namespace allot;

BOOST_FIXTURE_TEST_CASE(where_no_shrinker_is_registered_nothing_is_given_back, verified) {
    BOOST_TEST(reclaim_for_refusal(top, 4096) == 0u);
    reclaim_for_high(top, 4096);
    deliver_events();
}
