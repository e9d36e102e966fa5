#define BOOST_TEST_MODULE large
#include <boost/test/unit_test.hpp>

#include "alloc/large.hpp"
#include "tests/support/allocated.hpp"

#include <cerrno>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

} // namespace

BOOST_FIXTURE_TEST_CASE(whole_pages_are_usable_and_charged, allocated) {
    for (std::size_t size : {65 * kib, 100 * kib + 1, mib - 1, mib, mib + 1, 5 * mib + 123}) {
        void *p = heap_malloc(size);
        BOOST_TEST(heap_usable_size(p) == (size + 4095) / 4096 * 4096);
        BOOST_TEST(tenant_current(top) == heap_usable_size(p));
        BOOST_TEST(number(top, "memory.current") == heap_usable_size(p));
        heap_free(p);
        BOOST_TEST(tenant_current(top) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_block_grows_in_place_into_free_units, allocated) {
    char *p = static_cast<char *>(heap_malloc(300 * kib));
    std::memset(p, 1, 300 * kib);
    BOOST_TEST(heap_realloc(p, 500 * kib) == p);  // within its units
    BOOST_TEST(heap_realloc(p, 1020 * kib) == p); // into the next
    BOOST_TEST(heap_usable_size(p) == 1020 * kib);
    BOOST_TEST(tenant_current(top) == 1020 * kib);
    std::memset(p + 300 * kib, 2, 720 * kib);
    BOOST_TEST(is_filled(p, 300 * kib, 1));
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_block_with_a_neighbour_moves_with_its_contents, allocated) {
    heap_trim(0);
    char *p = static_cast<char *>(heap_malloc(256 * kib));
    std::vector<void *> neighbours;
    for (int i = 0; i < 40; ++i) neighbours.push_back(heap_malloc(256 * kib));
    std::memset(p, 1, 256 * kib);
    char *moved = static_cast<char *>(heap_realloc(p, 600 * kib));
    BOOST_TEST((moved != p));
    BOOST_TEST(is_filled(moved, 256 * kib, 1));
    for (void *n : neighbours) heap_free(n);
    BOOST_TEST(tenant_current(top) == 600 * kib);
    heap_free(moved);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_shrinks_gives_its_units_and_its_charge_back, allocated) {
    char *p = static_cast<char *>(heap_malloc(8 * mib));
    std::memset(p, 1, 8 * mib);
    std::uint32_t before = units_in_use();
    BOOST_TEST(heap_realloc(p, 2 * mib) == p);
    BOOST_TEST(units_in_use() == before - 24);
    BOOST_TEST(tenant_current(top) == 2 * mib);
    BOOST_TEST(is_filled(p, 2 * mib, 1));
    BOOST_TEST(verify().differences == 0u);
    heap_free(p);
}

// Below 1 MiB a block is on a context's books, above on the tenant's own.
BOOST_FIXTURE_TEST_CASE(crossing_the_border_of_the_two_books_is_exact_both_ways, allocated) {
    void *p = heap_malloc(900 * kib);
    for (std::size_t size : {mib, mib - 4096, 3 * mib, 72 * kib, mib + 4096, 1020 * kib}) {
        p = heap_realloc(p, size);
        BOOST_TEST_REQUIRE(p != nullptr);
        BOOST_TEST(tenant_current(top) == size);
        verify_result result = verify();
        BOOST_TEST(result.differences == 0u, result.first);
    }
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_refused_block_or_growth_changes_nothing, allocated) {
    allot_tenant *t = make("/case/t", "4M");
    heap_set_active(t);
    void *p = heap_malloc(3 * mib);
    std::memset(p, 9, 3 * mib);
    std::uint64_t usage = usage_of("/case"), peak = number(t, "memory.peak");
    std::uint32_t units = units_in_use();
    errno = 0;
    BOOST_TEST(heap_malloc(2 * mib) == nullptr);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(heap_realloc(p, 5 * mib) == nullptr);
    BOOST_TEST(heap_calloc(2, mib) == nullptr);
    BOOST_TEST(heap_aligned_alloc(2 * mib, 2 * mib) == nullptr);
    BOOST_TEST(usage_of("/case") == usage);
    BOOST_TEST(number(t, "memory.peak") == peak);
    BOOST_TEST(units_in_use() == units);
    BOOST_TEST(is_filled(p, 3 * mib, 9));
    BOOST_TEST(heap_realloc(p, 4 * mib) == p); // exactly to the limit
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(calloc_needs_no_clearing_of_what_the_system_has_just_given, allocated) {
    home *h = home_here();
    heap_trim(0);
    large_block first = large_alloc(h, thread_here.active, mib, 16);
    BOOST_TEST(first.zero);
    std::memset(first.block, 1, mib);
    heap_free(first.block);
    large_block second = large_alloc(h, thread_here.active, mib, 16);
    BOOST_TEST(second.block == first.block);
    BOOST_TEST(!second.zero);
    heap_free(second.block);
}

BOOST_FIXTURE_TEST_CASE(any_thread_frees_it_and_its_owner_is_credited_at_once, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    heap_set_active(a);
    void *small = heap_malloc(200 * kib), *big = heap_malloc(3 * mib);
    heap_set_active(top);
    std::thread([&] {
        heap_set_active(b);
        heap_free(small);
        BOOST_TEST(tenant_current(a) == 3 * mib);
        heap_free(big);
        BOOST_TEST(tenant_current(a) == 0u);
        BOOST_TEST(tenant_current(b) == 0u);
    }).join();
}
