#define BOOST_TEST_MODULE tenant_extra
#include <boost/test/unit_test.hpp>

#include "accounting/tenant_extra.hpp"

#include "accounting/base/os.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

namespace {

tenant_extra *made_for(allot_tenant *handle) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    return extra_of(*tenant_from(handle));
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_tenant_has_none_until_it_is_asked_for_and_then_one_that_is_empty, verified) {
    tenant &t = *tenant_from(top);
    BOOST_TEST(extra_if_any(t) == nullptr);
    tenant_extra *made = made_for(top);
    BOOST_TEST_REQUIRE(made != nullptr);
    BOOST_TEST(made->tenant == t.index);
    BOOST_TEST(made->failures.counted.load() == 0u);
    BOOST_TEST(made_for(top) == made);
    BOOST_TEST(extra_if_any(t) == made);
}

BOOST_FIXTURE_TEST_CASE(it_ends_with_its_tenant_and_is_used_again, verified) {
    const std::uint32_t before = record_count<tenant_extra>();
    for (int i = 0; i < 100; ++i) {
        allot_tenant *t = make("/case/t");
        tenant_extra *made = made_for(t);
        BOOST_TEST_REQUIRE(made != nullptr);
        BOOST_TEST(made->failures.injected.load() == 0u);
        made->failures.injected.store(7);
        BOOST_TEST(tenant_destroy(t) == 0);
    }
    BOOST_TEST(record_count<tenant_extra>() <= before + 1);
}
