#define BOOST_TEST_MODULE requests
#include <boost/test/unit_test.hpp>

#include "alloc/requests.hpp"

#include "accounting/allocator_source.hpp"
#include "alloc/memory_figures.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace allot;

namespace {

// Before anything is started.
const bool is_exact = setenv("ALLOT_REQUESTED", "exact", 1) == 0;

std::uint64_t requested(allot_tenant *t) { return verified::keyed(t, "memory.stat", "requested"); }

} // namespace

BOOST_FIXTURE_TEST_CASE(each_block_counts_with_what_was_asked_for, allocated) {
    BOOST_TEST_REQUIRE(is_exact);
    allot_tenant *a = make("/case/a"), *b = make("/case/a/b");
    heap_set_active(b);
    std::vector<void *> held;
    std::uint64_t sum = 0;
    for (std::size_t size : {0, 1, 15, 16, 17, 100, 1000, 4095, 4097, 40000, 65536, 65537, 300001, 3000001}) {
        held.push_back(heap_malloc(size));
        held.push_back(heap_calloc(1, size));
        held.push_back(heap_aligned_alloc(64, size));
        held.push_back(heap_aligned_alloc(65536, size));
        held.push_back(heap_aligned_alloc(1u << 20, size));
        sum += 5 * size;
    }
    BOOST_TEST(requested(b) == sum);
    BOOST_TEST(requested(a) == sum);
    heap_set_active(a);
    void *own = heap_malloc(33);
    BOOST_TEST(requested(a) == sum + 33);
    BOOST_TEST(requested(b) == sum);
    heap_free(own);
    for (void *p : held) heap_free(p);
    BOOST_TEST(requested(a) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_resized_counts_with_its_new_size_wherever_it_is, allocated) {
    std::mt19937 random(3);
    std::map<unsigned, std::pair<void *, std::size_t>> blocks;
    for (unsigned i = 0; i < 20000; ++i) {
        auto &[p, size] = blocks[random() % 50];
        size = 1 + (random() % 50 == 0 ? random() % 2000000 : random() % 3000);
        p = heap_realloc(p, size);
        BOOST_TEST_REQUIRE(p != nullptr);
    }
    std::uint64_t sum = 0;
    for (const auto &[number, block] : blocks) sum += block.second;
    BOOST_TEST(requested(top) == sum);
    for (const auto &[number, block] : blocks) heap_free(block.first);
}

// To shrink is not refused: the block stays, and was asked to be smaller.
BOOST_FIXTURE_TEST_CASE(a_block_that_cannot_shrink_elsewhere_counts_with_the_smaller_size, allocated) {
    allot_tenant *a = make("/case/a", "1000");
    heap_set_active(a);
    void *p = heap_malloc(1000 - 200);
    BOOST_TEST_REQUIRE(p != nullptr);
    BOOST_TEST(heap_realloc(p, 300) == p);
    BOOST_TEST(requested(a) == 300u);
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(blocks_keep_their_requests_when_they_change_hands_or_their_tenant_goes, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    heap_set_active(a);
    std::vector<void *> held;
    for (unsigned i = 0; i < 1000; ++i) held.push_back(heap_malloc(1001)); // more than would get slabs of their own
    heap_set_active(top);
    std::thread([&] {
        for (unsigned i = 0; i < 500; ++i) heap_free(held[i]);
    }).join();
    BOOST_TEST(requested(a) == 500 * 1001u);
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(requested(top) == 500 * 1001u);
    BOOST_TEST(requested(b) == 0u);
    for (unsigned i = 500; i < 1000; ++i) heap_free(held[i]);
}

BOOST_FIXTURE_TEST_CASE(a_child_counts_its_own_blocks, allocated) {
    void *p = heap_malloc(1234);
    child_end end = in_child([] {
        allot_tenant *own = tenant_create_path("/case");
        heap_set_active(own);
        void *q = heap_malloc(99);
        if (requested(own) != 99) return 1;
        heap_free(q);
        return requested(own) == 0 ? 0 : 2;
    });
    BOOST_TEST(end.exited_with(0));
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(requests_are_read_while_others_work, allocated) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            void *held[100] = {};
            while (!stop) {
                void *&p = held[random() % 100];
                if (random() % 10 == 0) {
                    p = heap_realloc(p, 1 + random() % 400000);
                    continue;
                }
                heap_free(p);
                p = heap_malloc(random() % 70000);
            }
            for (void *p : held) heap_free(p);
        });
    for (int i = 0; i < 100; ++i) BOOST_TEST(requested(top) < 200u << 20);
    stop = true;
    for (std::thread &thread : threads) thread.join();
}
