#define BOOST_TEST_MODULE adopt
#include <boost/test/unit_test.hpp>

#include "alloc/adopt.hpp"
#include "tests/support/allocated.hpp"

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

// What `count` objects of a new thread are, after it has ended.
std::vector<void *> left_by_a_thread(std::size_t count, std::size_t size, allot_tenant *tenant) {
    std::vector<void *> left;
    std::thread([&] {
        heap_set_active(tenant);
        for (std::size_t i = 0; i < count; ++i) left.push_back(heap_malloc(size));
    }).join();
    return left;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(the_next_thread_moves_in_and_goes_on_with_the_slabs, allocated) {
    std::vector<void *> left = left_by_a_thread(10, 5000, tenant_default());
    std::uint64_t homes = homes_count();
    std::uint32_t units = units_in_use();
    std::thread([&] {
        void *p = heap_malloc(5000);
        BOOST_TEST(slab_of(p) == slab_of(left[0]));
        BOOST_TEST(slab_of(p)->owner == thread_here.active->tag);
        for (void *q : left) heap_free(q); // its own by now
        heap_free(p);
    }).join();
    BOOST_TEST(homes_count() == homes);
    BOOST_TEST(units_in_use() == units - 1); // all free: gone with the thread
}

BOOST_FIXTURE_TEST_CASE(a_home_is_lived_in_by_one_thread_at_a_time, allocated) {
    (void)left_by_a_thread(0, 16, tenant_default());
    std::barrier steps(4);
    std::vector<home *> homes(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            homes[t] = home_here();
            steps.arrive_and_wait();
        });
    for (std::thread &t : threads) t.join();
    for (std::size_t t = 0; t < 4; ++t)
        for (std::size_t u = 0; u < t; ++u) BOOST_TEST(homes[t] != homes[u]);
}

BOOST_FIXTURE_TEST_CASE(what_is_freed_for_an_orphan_is_collected_and_empty_slabs_go_back, allocated) {
    for (allot_tenant *t : {tenant_default(), top}) {
        std::uint32_t units = units_in_use();
        std::vector<void *> left = left_by_a_thread(3 * unit_bytes / 1024, 1024, t);
        BOOST_TEST(units_in_use() >= units + 3);
        for (void *p : left) heap_free(p); // a multiple of a chain
        BOOST_TEST(tenant_current(t) == 0u);
        BOOST_TEST(units_in_use() == units);
    }
}

// The home is left while its objects are being freed; whichever comes first, somebody collects.
BOOST_FIXTURE_TEST_CASE(nothing_is_stranded_when_a_home_is_left_while_others_free_for_it, allocated) {
    heap_free(heap_malloc(64));
    std::uint32_t units = units_in_use();
    for (int round = 0; round < 300; ++round) {
        std::vector<void *> held;
        std::barrier steps(2);
        std::thread leaver([&] {
            for (std::size_t i = 0; i < 256; ++i) held.push_back(heap_malloc(1024));
            steps.arrive_and_wait();
        });
        std::thread freer([&] {
            steps.arrive_and_wait();
            for (void *p : held) heap_free(p);
        });
        leaver.join();
        freer.join();
        BOOST_TEST_REQUIRE(units_in_use() <= units);
    }
}

BOOST_FIXTURE_TEST_CASE(an_orphans_contexts_go_on_with_their_tenants, allocated) {
    allot_tenant *t = make("/case/t", "1M");
    std::vector<void *> left = left_by_a_thread(500, 1024, t); // shared, then private
    BOOST_TEST(usage_of("/case/t") == 500 * 1024u);
    std::thread([&] {
        heap_set_active(t);
        std::vector<void *> more;
        while (void *p = heap_malloc(1024)) more.push_back(p);
        BOOST_TEST(more.size() == 524u);
        for (void *p : more) heap_free(p);
    }).join();
    BOOST_TEST(usage_of("/case/t") == 500 * 1024u);
    for (void *p : left) heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(an_orphan_of_a_destroyed_tenant_can_be_moved_into, allocated) {
    make("/case/p");
    allot_tenant *t = make("/case/p/t");
    std::vector<void *> left = left_by_a_thread(300, 1024, t);
    BOOST_TEST(tenant_destroy(t) == 0);
    BOOST_TEST(usage_of("/case/p") == 300 * 1024u);
    std::thread([&] {
        for (void *p : left) heap_free(p);
    }).join();
    BOOST_TEST(usage_of("/case/p") == 0u);
}

// The arena is at its end and every unit taken; what an orphan holds is the only memory there is.
BOOST_FIXTURE_TEST_CASE(free_slots_of_orphans_are_used_when_no_unit_can_be_had, allocated) {
    constexpr std::size_t size = 1024, slots = unit_bytes / size;
    heap_set_active(tenant_default());
    heap_free(heap_malloc(size));
    std::vector<void *> left = left_by_a_thread(4 * slots, size, tenant_default()), kept;
    for (std::size_t i = 0; i < left.size(); ++i)
        if (i % slots == 7)
            kept.push_back(left[i]);
        else
            heap_free(left[i]);
    std::size_t max_units = arena.max_units;
    arena.max_units = arena_frontier();
    std::vector<std::uint32_t> taken;
    while (std::uint32_t unit = units_alloc(1).first) taken.push_back(unit);
    std::vector<void *> more;
    while (void *p = heap_malloc(size)) more.push_back(p);
    BOOST_TEST(more.size() >= 4 * slots - 4 - chain_max);
    arena.max_units = max_units;
    for (std::uint32_t unit : taken) units_free(unit, 1, 0);
    for (void *p : more) heap_free(p);
    for (void *p : kept) heap_free(p);
    heap_set_active(top);
}
