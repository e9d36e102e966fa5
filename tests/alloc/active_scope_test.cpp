#define BOOST_TEST_MODULE active_scope
#include <boost/test/unit_test.hpp>

#include "alloc/active_scope.hpp"
#include "tests/support/allocated.hpp"

using namespace allot;

BOOST_FIXTURE_TEST_CASE(an_active_scope_charges_its_tenant_and_restores_the_one_before, allocated) {
    allot_tenant *other = tenant_create_path("/active_scope/other");
    BOOST_TEST_REQUIRE(other != nullptr);
    allot_tenant *before = heap_active();
    void *inside;
    {
        active_scope scope(other);
        BOOST_TEST(heap_active() == other);
        inside = heap_malloc(100);
    }
    BOOST_TEST(heap_active() == before);
    BOOST_TEST(heap_owner_of(inside) == other);
    BOOST_TEST(tenant_current(other) == heap_usable_size(inside));
    heap_free(inside);
    BOOST_TEST(tenant_current(other) == 0u);
}

BOOST_FIXTURE_TEST_CASE(an_unaccounted_scope_charges_the_root_alone_if_it_is_wanted, allocated) {
    allot_tenant *other = tenant_create_path("/active_scope/other");
    active_scope outer(other);
    void *spared, *paid;
    {
        unaccounted_scope scope(true);
        spared = heap_malloc(100);
    }
    {
        unaccounted_scope scope(false);
        paid = heap_malloc(100);
    }
    BOOST_TEST(heap_owner_of(spared) == tenant_root());
    BOOST_TEST(heap_owner_of(paid) == other);
    heap_free(spared);
    heap_free(paid);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_made_active_inside_an_unaccounted_scope_is_active_after_it, allocated) {
    allot_tenant *other = tenant_create_path("/active_scope/other");
    allot_tenant *before = heap_active();
    {
        unaccounted_scope scope(true);
        BOOST_TEST(heap_set_active(other) == before);
        BOOST_TEST(heap_active() == other);
        void *spared = heap_malloc(100);
        BOOST_TEST(heap_owner_of(spared) == tenant_root());
        heap_free(spared);
    }
    BOOST_TEST(heap_active() == other);
    heap_set_active(before);
}
