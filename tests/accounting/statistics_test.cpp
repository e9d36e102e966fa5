#define BOOST_TEST_MODULE statistics
#include <boost/test/unit_test.hpp>

#include "accounting/statistics.hpp"

#include "accounting/base/mutex.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

namespace {

statistics read(allot_tenant *t, statistics (*of)(const tenant &)) {
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    return of(*tenant_from(t));
}

} // namespace

BOOST_FIXTURE_TEST_CASE(own_figures_are_without_and_the_subtrees_with_descendants, verified) {
    allot_tenant *a = make("/case/a");
    context *in_top = context_open(obj_cgroup_of(top));
    context *in_a = context_open(obj_cgroup_of(a));
    BOOST_TEST(charge(in_top, 64));
    BOOST_TEST(charge(in_a, 256));
    BOOST_TEST(charge_bytes(obj_cgroup_of(a), 7, charge_kind::external));
    statistics own = read(top, statistics_of), all = read(top, statistics_of_subtree);
    BOOST_TEST(own.value[allot_stat_slab] == 64);
    BOOST_TEST(own.value[allot_stat_external] == 0);
    BOOST_TEST(all.value[allot_stat_slab] == 320);
    BOOST_TEST(all.value[allot_stat_objects] == 2);
    BOOST_TEST(all.value[allot_stat_external] == 7);
    BOOST_TEST(all.value[allot_stat_slab] + all.value[allot_stat_external] + all.value[allot_stat_stock] ==
               static_cast<std::int64_t>(usage_of("/case")));
    uncharge_bytes(obj_cgroup_of(a), 7, charge_kind::external);
    uncharge(in_top, 64);
    uncharge(in_a, 256);
    context_close(in_top);
    context_close(in_a);
}

// Allocated through one context, freed through another: neither's share is shown as less than nothing.
BOOST_FIXTURE_TEST_CASE(a_thread_that_only_frees_makes_no_figure_negative, verified) {
    context *allocates = context_open(obj_cgroup_of(top));
    context *frees = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 100; ++i) BOOST_TEST(charge(allocates, 1024));
    for (int i = 0; i < 100; ++i) uncharge(frees, 1024);
    statistics all = read(top, statistics_of_subtree);
    BOOST_TEST(all.value[allot_stat_slab] == 0);
    BOOST_TEST(all.value[allot_stat_objects] == 0);
    context_close(allocates);
    context_close(frees);
}
