#define BOOST_TEST_MODULE accounted_hooks
#include <boost/test/unit_test.hpp>

#include "alloc/accounted_hooks.hpp"
#include "tests/support/allocated.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

struct with_heap : allocated {
    accounted_hooks::heap_part part{};
    allot_tenant *t = make("/case/t", "4M");
    std::uint32_t owner = accounted_hooks::owner_get(t);
    with_heap() { accounted_hooks::heap_open(part, owner); }
    ~with_heap() {
        accounted_hooks::heap_close(part);
        accounted_hooks::owner_put(owner);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(charges_of_every_size_reach_the_tenant_and_come_back, with_heap) {
    for (std::size_t bytes : {std::size_t{16}, std::size_t{65536}, mib - 4096, mib, 3 * mib}) {
        BOOST_TEST_REQUIRE(accounted_hooks::charge_object(part, bytes));
        BOOST_TEST(tenant_current(t) == bytes);
        accounted_hooks::uncharge_object(part, bytes);
        BOOST_TEST(tenant_current(t) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(growth_and_shrinkage_are_charged_by_the_difference, with_heap) {
    BOOST_TEST_REQUIRE(accounted_hooks::charge_object(part, 69632));
    BOOST_TEST_REQUIRE(accounted_hooks::charge_growth(part, 69632, 102400));
    BOOST_TEST(tenant_current(t) == 102400u);
    accounted_hooks::uncharge_shrinkage(part, 102400, 81920);
    BOOST_TEST(tenant_current(t) == 81920u);
    accounted_hooks::uncharge_object(part, 81920);
    BOOST_TEST_REQUIRE(accounted_hooks::charge_object(part, mib));
    BOOST_TEST_REQUIRE(accounted_hooks::charge_growth(part, mib, 4 * mib));
    BOOST_TEST(!accounted_hooks::charge_growth(part, 4 * mib, 5 * mib));
    BOOST_TEST(tenant_current(t) == 4 * mib);
    accounted_hooks::uncharge_shrinkage(part, 4 * mib, 2 * mib);
    accounted_hooks::uncharge_object(part, 2 * mib);
}

BOOST_FIXTURE_TEST_CASE(a_slabs_part_charges_one_object_of_its_size_at_a_time, with_heap) {
    accounted_hooks::slab_part slab = accounted_hooks::make_slab_part(part, 160);
    for (int i = 0; i < 10; ++i)
        BOOST_TEST_REQUIRE((accounted_hooks::charge(slab) || accounted_hooks::charge_slow(slab)));
    BOOST_TEST(tenant_current(t) == 1600u);
    BOOST_TEST(keyed(t, "memory.stat", "objects") == 10u);
    for (int i = 0; i < 10; ++i)
        if (!accounted_hooks::uncharge(slab)) accounted_hooks::uncharge_slow(slab);
    BOOST_TEST(tenant_current(t) == 0u);
}

// A handle that names nobody, as when the region cannot grow: the program goes on, uncounted.
BOOST_FIXTURE_TEST_CASE(a_heap_that_cannot_have_a_context_never_refuses_and_counts_nothing, with_heap) {
    accounted_hooks::heap_part uncounted{};
    accounted_hooks::heap_open(uncounted, 0);
    BOOST_TEST(uncounted.ctx == &accounted_hooks::uncounted_context);
    for (int i = 0; i < 100000; ++i) BOOST_TEST_REQUIRE(accounted_hooks::charge_object(uncounted, 65536));
    for (int i = 0; i < 100000; ++i) accounted_hooks::uncharge_object(uncounted, 65536);
    accounted_hooks::heap_fold(uncounted);
    accounted_hooks::heap_park(uncounted);
    accounted_hooks::heap_close(uncounted);
    BOOST_TEST(uncounted.ctx == nullptr);
    BOOST_TEST(usage_of("/") == usage_of("/case"));
}

BOOST_FIXTURE_TEST_CASE(owners_and_tenants_name_each_other, with_heap) {
    BOOST_TEST(accounted_hooks::owner_of(part) == owner);
    BOOST_TEST(accounted_hooks::tenant_of_owner(owner) == t);
    std::uint32_t again = accounted_hooks::owner_get(t);
    BOOST_TEST(again == owner);
    accounted_hooks::owner_put(again);
    char path[64];
    accounted_hooks::owner_path(owner, path, sizeof path);
    BOOST_TEST(std::string(path) == "/case/t");
    accounted_hooks::owner_path(0, path, sizeof path);
    BOOST_TEST(std::string(path) == "");
}

BOOST_FIXTURE_TEST_CASE(who_asks_a_tenant_for_memory_gets_the_allocators_too, allocated) {
    std::vector<void *> held;
    for (int i = 0; i < 20; ++i) std::memset(held.emplace_back(heap_malloc(mib)), 1, mib);
    for (void *p : held) heap_free(p);
    BOOST_TEST(units_statistics().dirty_free >= 20u);
    BOOST_TEST(tenant_set(top, "memory.reclaim", "1M") == -EAGAIN); // nobody is charged for it
    BOOST_TEST(units_statistics().dirty_free == 0u);
}
