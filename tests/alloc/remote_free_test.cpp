#define BOOST_TEST_MODULE remote_free
#include <boost/test/unit_test.hpp>

#include "alloc/remote_free.hpp"
#include "tests/support/allocated.hpp"

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

using namespace allot;

namespace {

std::size_t in_inbox(home *h) {
    std::size_t count = 0;
    for (void *slot = h->inbox; slot != nullptr; slot = static_cast<void **>(slot)[1]) ++count;
    return count;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(slots_travel_in_chains_and_what_is_left_goes_when_the_thread_ends, allocated) {
    heap_set_active(tenant_default());
    std::vector<void *> held;
    for (std::uint32_t i = 0; i < 2 * chain_max + 5; ++i) held.push_back(heap_malloc(64));
    home *here = home_here();
    std::thread([&] {
        for (std::uint32_t i = 0; i < chain_max - 1; ++i) heap_free(held[i]);
        BOOST_TEST(in_inbox(here) == 0u);
        heap_free(held[chain_max - 1]);
        BOOST_TEST(in_inbox(here) == chain_max);
        for (std::uint32_t i = chain_max; i < held.size(); ++i) heap_free(held[i]);
        BOOST_TEST(in_inbox(here) == 2 * chain_max);
    }).join();
    BOOST_TEST(in_inbox(here) == held.size());
    BOOST_TEST(remote_collect(here));
    BOOST_TEST(in_inbox(here) == 0u);
    BOOST_TEST(!remote_collect(here));
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_chain_is_sent_when_the_next_slot_lives_elsewhere, allocated) {
    heap_set_active(tenant_default());
    void *mine[3] = {heap_malloc(32), heap_malloc(32), heap_malloc(32)}, *theirs = nullptr;
    home *here = home_here();
    std::barrier steps(2);
    std::thread other([&] {
        theirs = heap_malloc(32);
        steps.arrive_and_wait();
        steps.arrive_and_wait();
    });
    steps.arrive_and_wait();
    std::thread([&] {
        heap_free(mine[0]);
        heap_free(mine[1]);
        BOOST_TEST(in_inbox(here) == 0u);
        heap_free(theirs);
        BOOST_TEST(in_inbox(here) == 2u);
        heap_free(mine[2]);
    }).join();
    BOOST_TEST(in_inbox(here) == 3u);
    steps.arrive_and_wait();
    other.join();
    heap_set_active(top);
}

// The thread that frees has another tenant active; the credit does not wait for the slot to get home.
BOOST_FIXTURE_TEST_CASE(the_owner_is_credited_at_once_whoever_frees, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    for (std::size_t size : {std::size_t{16}, std::size_t{200}, std::size_t{40000}}) {
        std::vector<void *> held;
        heap_set_active(a);
        for (std::size_t bytes = 0; bytes < 400000; bytes += size)
            held.push_back(heap_malloc(size)); // shared, then private
        heap_set_active(top);
        std::uint64_t left = tenant_current(a);
        std::thread([&] {
            heap_set_active(b);
            void *own = heap_malloc(size);
            for (void *p : held) {
                left -= heap_usable_size(p);
                heap_free(p);
                BOOST_TEST_REQUIRE(tenant_current(a) == left);
            }
            BOOST_TEST(tenant_current(b) == heap_usable_size(own));
            heap_free(own);
        }).join();
        BOOST_TEST(tenant_current(a) == 0u);
        BOOST_TEST(tenant_current(b) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_only_frees_works_and_owes_nothing, allocated) {
    std::vector<void *> held;
    for (std::size_t i = 0; i < 3000; ++i) held.push_back(heap_malloc(i % 3 == 0 ? 16 : i % 3 == 1 ? 600 : 70000));
    std::thread([&] {
        for (void *p : held) heap_free(p);
    }).join();
    BOOST_TEST(tenant_current(top) == 0u);
    BOOST_TEST(heap_statistics_get().live_objects == 64u * 31u + 16u); // not all have been collected
}

// One allocates, another frees, without end: what comes back is used again.
BOOST_FIXTURE_TEST_CASE(a_producer_lives_on_what_its_consumer_frees, allocated) {
    heap_set_active(tenant_default());
    constexpr int rounds = 200, objects = 2000;
    std::vector<void *> box(objects);
    std::barrier steps(2);
    std::thread consumer([&] {
        for (int round = 0; round < rounds; ++round) {
            steps.arrive_and_wait();
            for (void *p : box) {
                BOOST_TEST_REQUIRE(is_filled(static_cast<char *>(p) + 1, 127, *static_cast<unsigned char *>(p)));
                heap_free(p);
            }
            steps.arrive_and_wait();
        }
    });
    std::uint32_t most = 0;
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < box.size(); ++i) fill(box[i] = heap_malloc(128), 128, static_cast<unsigned>(i));
        steps.arrive_and_wait();
        steps.arrive_and_wait();
        if (units_in_use() > most) most = units_in_use();
    }
    consumer.join();
    BOOST_TEST(most <= 6u); // 2000 * 128 bytes are one slab
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(frees_in_every_direction_at_once_lose_nothing, allocated) {
    constexpr std::size_t nr = 4, objects = 400;
    allot_tenant *tenants[nr] = {tenant_default(), top, make("/case/a"), make("/case/b")};
    std::vector<void *> boxes[nr][nr];
    std::barrier steps(nr);
    std::vector<std::thread> threads;
    for (std::size_t self = 0; self < nr; ++self)
        threads.emplace_back([&, self] {
            for (int round = 0; round < 20; ++round) {
                heap_set_active(tenants[(self + static_cast<std::size_t>(round)) % nr]);
                for (std::size_t to = 0; to < nr; ++to)
                    for (std::size_t i = 0; i < objects; ++i) {
                        std::size_t size = 16 + (i * 97) % 3000;
                        fill(boxes[self][to].emplace_back(heap_malloc(size)), size, 0);
                    }
                steps.arrive_and_wait();
                for (std::size_t from = 0; from < nr; ++from) {
                    for (void *p : boxes[from][self]) heap_free(p);
                    boxes[from][self].clear();
                }
                steps.arrive_and_wait();
            }
        });
    for (std::thread &t : threads) t.join();
    verify_result quiet = verify();
    BOOST_TEST(quiet.differences == 0u, quiet.first);
    for (allot_tenant *t : tenants) BOOST_TEST(tenant_current(t) == 0u);
}
