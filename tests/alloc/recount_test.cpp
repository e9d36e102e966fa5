#define BOOST_TEST_MODULE recount
#include <boost/test/unit_test.hpp>

#include "alloc/recount.hpp"
#include "tests/support/allocated.hpp"

#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t sizes[] = {16, 100, 5000, 60000, 200000, 3000000};

} // namespace

// The control: were the recount blind, every other test's verify() would be worth nothing.
BOOST_FIXTURE_TEST_CASE(a_charge_without_an_object_is_found, allocated) {
    heap *a = home_here() != nullptr ? thread_here.in_home->current : nullptr;
    BOOST_TEST_REQUIRE(hooks::charge_object(a->account, 64));
    verify_result result = verify();
    BOOST_TEST(result.differences == 2u); // bytes and objects
    BOOST_TEST(std::string(result.first) == "/case: slab is 64 and should be 0.");
    hooks::uncharge_object(a->account, 64);
}

BOOST_FIXTURE_TEST_CASE(an_object_without_a_charge_is_found, allocated) {
    heap *a = home_here() != nullptr ? thread_here.in_home->current : nullptr;
    void *p = heap_malloc(64);
    hooks::uncharge_object(a->account, 64);
    verify_result result = verify();
    BOOST_TEST(std::string(result.first) == "/case: slab is 0 and should be 64.");
    BOOST_TEST_REQUIRE(hooks::charge_object(a->account, 64));
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(objects_on_their_way_home_are_not_counted_twice, allocated) {
    allot_tenant *small = make("/case/small");
    std::vector<void *> held;
    for (allot_tenant *t : {small, tenant_default()}) {
        heap_set_active(t);
        for (int i = 0; i < 20; ++i) held.push_back(heap_malloc(200)); // fewer than a chain
    }
    std::thread([&] {
        for (void *p : held) heap_free(p);
        BOOST_TEST(tenant_current(small) == 0u);
        verify_result chained = verify();
        BOOST_TEST(chained.differences == 0u, chained.first);
    }).join();
    verify_result in_the_inbox = verify();
    BOOST_TEST(in_the_inbox.differences == 0u, in_the_inbox.first);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(statistics_are_the_sums_of_what_lives, allocated) {
    heap_statistics before = heap_statistics_get();
    std::vector<void *> held;
    std::uint64_t bytes = 0;
    for (std::size_t size : sizes)
        for (int i = 0; i < 3; ++i) bytes += heap_usable_size(held.emplace_back(heap_malloc(size)));
    heap_statistics now = heap_statistics_get();
    BOOST_TEST(now.live_objects - before.live_objects == held.size());
    BOOST_TEST(now.live_bytes - before.live_bytes == bytes);
    BOOST_TEST(now.large_objects - before.large_objects == 6u);
    BOOST_TEST(now.large_bytes - before.large_bytes == 3 * (200704u + 3002368u));
    BOOST_TEST(now.mapped_bytes >= now.live_bytes);
    BOOST_TEST(now.metadata_bytes > 0u);
    BOOST_TEST(now.homes >= 1u);
    for (void *p : held) heap_free(p);
    heap_statistics after = heap_statistics_get();
    BOOST_TEST(after.live_objects == before.live_objects);
    BOOST_TEST(after.live_bytes == before.live_bytes);
}
