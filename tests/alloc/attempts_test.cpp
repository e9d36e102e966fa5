#define BOOST_TEST_MODULE attempts
#include <boost/test/unit_test.hpp>

#include "accounting/settle.hpp"
#include "alloc/attempts.hpp"
#include "tests/support/allocated.hpp"

#include <cerrno>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(an_attempt_that_leaves_nothing_is_made_once_in_a_visit, allocated) {
    home *h = home_here();
    int attempts = 0;
    void *p = settled_attempts(h, [&](home *in) -> void * {
        ++attempts;
        BOOST_TEST(in == h);
        BOOST_TEST(h->busy);
        return &attempts;
    });
    BOOST_TEST(p == &attempts);
    BOOST_TEST(attempts == 1);
    BOOST_TEST(!h->busy);
}

BOOST_FIXTURE_TEST_CASE(a_failure_that_is_no_refusal_is_final, allocated) {
    int attempts = 0;
    errno = 0;
    void *p = settled_attempts(home_here(), [&](home *) -> void * {
        ++attempts;
        errno = ENOMEM;
        return nullptr;
    });
    BOOST_TEST(p == nullptr);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(attempts == 1);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_is_settled_once_and_the_thread_owes_nothing_afterwards, allocated) {
    allot_tenant *t = make("/case/t", "8K");
    heap_set_active(t);
    void *p = heap_malloc(5000);
    for (std::size_t size : {std::size_t{5000}, std::size_t{100000}, std::size_t{2000000}}) {
        std::uint64_t refusals = keyed(t, "memory.events", "oom");
        errno = 0;
        BOOST_TEST(heap_malloc(size) == nullptr);
        BOOST_TEST(errno == ENOMEM);
        BOOST_TEST(keyed(t, "memory.events", "oom") == refusals + 1);
        BOOST_TEST(!settle_is_due());
    }
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(growth_in_place_that_is_refused_is_one_refusal, allocated) {
    allot_tenant *t = make("/case/t", "4M");
    heap_set_active(t);
    void *p = heap_malloc(3 << 20);
    BOOST_TEST(heap_realloc(p, 5 << 20) == nullptr);
    BOOST_TEST(keyed(t, "memory.events", "oom") == 1u);
    heap_set_active(top); // somebody else pays elsewhere
    p = heap_realloc(p, 5 << 20);
    BOOST_TEST(heap_owner_of(p) == top);
    BOOST_TEST(tenant_current(t) == 0u);
    BOOST_TEST(keyed(t, "memory.events", "oom") == 1u);
    BOOST_TEST(!settle_is_due());
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(what_is_above_high_is_settled_after_the_charge, allocated) {
    allot_tenant *t = make("/case/t");
    BOOST_TEST(tenant_set(t, "memory.high", "64K") == 0);
    heap_set_active(t);
    void *held[200];
    for (void *&p : held) {
        p = heap_malloc(1000);
        BOOST_TEST(!settle_is_due());
    }
    BOOST_TEST(keyed(t, "memory.events", "high") >= 1u);
    for (void *p : held) heap_free(p);
    heap_set_active(top);
}
