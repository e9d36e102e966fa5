#define BOOST_TEST_MODULE failures
#include <boost/test/unit_test.hpp>

#include "accounting/failures.hpp"

#include "accounting/base/os.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

BOOST_FIXTURE_TEST_CASE(without_a_plan_nothing_fails_and_nothing_is_counted, verified) {
    tenant &t = *tenant_from(top);
    BOOST_TEST(!failure_is_due(t, 16));
    BOOST_TEST(extra_if_any(t) == nullptr);
    BOOST_TEST(keyed(top, "memory.stat", "injected") == 0u);
}
