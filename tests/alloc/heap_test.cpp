#define BOOST_TEST_MODULE heap
#include <boost/test/unit_test.hpp>

#include "alloc/heap.hpp"
#include "alloc/metadata.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

struct figures { // of a subtree, all that a refusal could disturb
    std::uint64_t usage, peak, current;
    bool operator==(const figures &) const = default;
};

struct limited : allocated {
    static figures of(const char *path) {
        int error = 0;
        allot_tenant *t = tenant_open(path, error);
        return {usage_of(path), number(t, "memory.peak"), tenant_current(t)};
    }
    // Until refused.
    static std::vector<void *> fill_up(std::size_t size) {
        std::vector<void *> held;
        errno = 0;
        while (void *p = heap_malloc(size)) held.push_back(p);
        BOOST_TEST(errno == ENOMEM);
        return held;
    }
};

void free_all(const std::vector<void *> &held) {
    for (void *p : held) heap_free(p);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(the_processs_own_tenant_has_slabs_of_its_own_from_the_start, allocated) {
    heap_set_active(tenant_default());
    void *p = heap_malloc(100);
    BOOST_TEST((slab_of(p)->kind == unit_kind::private_slab));
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(slots_of_a_slab_that_was_empty_are_given_out_in_their_order_whatever_order_they_were_freed_in,
                        allocated) {
    heap_set_active(tenant_default());
    std::vector<void *> held;
    for (std::size_t i = 0; i < unit_bytes / 64; ++i) held.push_back(heap_malloc(64));
    slab *s = slab_of(held[0]);
    BOOST_TEST_REQUIRE(slab_of(held.back()) == s);
    std::shuffle(held.begin(), held.end(), std::minstd_rand(1));
    free_all(held);
    leave_home();
    BOOST_TEST_REQUIRE((s->kind == unit_kind::free && s->place == slab_place::cut));
    for (auto &p : held) p = heap_malloc(64);
    BOOST_TEST(slab_of(held[0]) == s);
    for (std::size_t i = 1; i < held.size(); ++i)
        BOOST_TEST_REQUIRE(static_cast<char *>(held[i]) - static_cast<char *>(held[i - 1]) == 64);
    free_all(held);
}

BOOST_FIXTURE_TEST_CASE(what_has_come_back_serves_before_memory_that_nobody_has_touched, allocated) {
    heap_set_active(tenant_default());
    leave_home();
    heap_trim(0); // all units are clean
    constexpr std::size_t capacity = unit_bytes / 64, page = 4096 / 64;
    std::vector<void *> first, second, again;
    for (std::size_t i = 0; i < capacity; ++i) first.push_back(heap_malloc(64));
    for (std::size_t i = 0; i < page; ++i) second.push_back(heap_malloc(64));
    slab *full = slab_of(first[0]), *begun = slab_of(second[0]);
    BOOST_TEST_REQUIRE(begun != full);
    for (std::size_t i = 0; i < capacity; i += 2) heap_free(first[i]);
    for (std::size_t i = 0; i < capacity; i += 2) {
        again.push_back(heap_malloc(64));
        BOOST_TEST_REQUIRE(slab_of(again.back()) == full);
    }
    BOOST_TEST(begun->carved == page); // not one more
    for (std::size_t i = 1; i < capacity; i += 2) heap_free(first[i]);
    free_all(second);
    free_all(again);
}

BOOST_FIXTURE_TEST_CASE(a_small_tenant_shares_slabs_and_graduates_at_a_quarter_slab, allocated) {
    for (std::size_t size : {std::size_t{16}, std::size_t{48}, std::size_t{1024}, 8 * kib}) {
        allot_tenant *t = make("/case/t");
        heap_set_active(t);
        std::vector<void *> held;
        for (std::size_t bytes = 0; bytes < graduation_bytes; bytes += size) {
            held.push_back(heap_malloc(size));
            BOOST_TEST_REQUIRE((slab_of(held.back())->kind == unit_kind::shared_slab));
        }
        held.push_back(heap_malloc(size));
        BOOST_TEST((slab_of(held.back())->kind == unit_kind::private_slab));
        BOOST_TEST(tenant_current(t) == held.size() * size);
        verify_result both = verify();
        BOOST_TEST(both.differences == 0u, both.first);
        for (void *p : held) heap_free(p);
        BOOST_TEST(tenant_current(t) == 0u);
        heap_set_active(top);
        destroy_below("/case/t");
    }
}

BOOST_FIXTURE_TEST_CASE(a_thousand_tiny_tenants_do_not_cost_a_thousand_slabs, allocated) {
    std::vector<allot_tenant *> tenants;
    std::vector<void *> held;
    for (int i = 0; i < 1000; ++i) tenants.push_back(make(("/case/t" + std::to_string(i)).c_str()));
    std::uint32_t before = units_in_use();
    for (int round = 0; round < 20; ++round)
        for (allot_tenant *t : tenants) {
            heap_set_active(t);
            held.push_back(heap_malloc(16u << round % 6));
        }
    // 20,000 objects of 16 to 512 bytes, 3.4 MiB: 14 slabs' worth, and one half full a class.
    BOOST_TEST(units_in_use() - before <= 14u + 6u);
    for (std::size_t i = 0; i < tenants.size(); ++i)
        BOOST_TEST_REQUIRE(tenant_current(tenants[i]) == 3 * (16 + 32 + 64 + 128 + 256 + 512) + 16u + 32u);
    verify_result full = verify();
    BOOST_TEST(full.differences == 0u, full.first);
    heap_set_active(top);
    for (void *p : held) heap_free(p);
    for (allot_tenant *t : tenants) BOOST_TEST_REQUIRE(tenant_current(t) == 0u);
}

BOOST_FIXTURE_TEST_CASE(neighbours_in_a_shared_slab_are_credited_each_for_itself, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    std::vector<void *> of_a, of_b;
    for (int i = 0; i < 50; ++i) {
        heap_set_active(a);
        of_a.push_back(heap_malloc(64));
        heap_set_active(b);
        of_b.push_back(heap_malloc(64));
    }
    BOOST_TEST(slab_of(of_a[0]) == slab_of(of_b[0]));
    for (void *p : of_a) heap_free(p);
    BOOST_TEST(tenant_current(a) == 0u);
    BOOST_TEST(tenant_current(b) == 50 * 64u);
    for (void *p : of_b) BOOST_TEST(heap_owner_of(p) == b);
    for (void *p : of_b) heap_free(p);
    heap_set_active(top);
}

// To the byte, however large the steps: shared slabs, private ones, whole units, direct charges.
BOOST_FIXTURE_TEST_CASE(exactly_as_much_as_the_limit_can_be_had, limited) {
    allot_tenant *t = make("/case/t", "4M");
    heap_set_active(t);
    for (std::size_t size : {std::size_t{64}, std::size_t{1024}, 32 * kib, 128 * kib, mib}) {
        std::vector<void *> held = fill_up(size);
        BOOST_TEST(held.size() == 4 * mib / size, "size " << size);
        BOOST_TEST(tenant_current(t) == 4 * mib);
        BOOST_TEST(number(t, "memory.peak") == 4 * mib);
        free_all(held);
        BOOST_TEST(tenant_current(t) == 0u);
    }
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_at_the_tenants_own_max_leaves_every_figure_as_it_was, limited) {
    allot_tenant *t = make("/case/t", "1M");
    heap_set_active(t);
    for (std::size_t size : {std::size_t{64}, 4 * kib, 128 * kib}) {
        std::vector<void *> held = fill_up(size);
        figures own = of("/case/t"), above = of("/case");
        std::uint64_t refusals = keyed(t, "memory.events", "oom");
        for (int i = 0; i < 100; ++i) BOOST_TEST_REQUIRE(heap_malloc(size) == nullptr);
        BOOST_TEST(heap_calloc(2, 2 * mib) == nullptr);
        BOOST_TEST((of("/case/t") == own));
        BOOST_TEST((of("/case") == above));
        BOOST_TEST(keyed(t, "memory.events", "oom") == refusals + 101);
        verify_result full = verify();
        BOOST_TEST(full.differences == 0u, full.first);
        heap_free(held.back());
        held.back() = heap_malloc(size);
        BOOST_TEST_REQUIRE(held.back() != nullptr);
        free_all(held);
    }
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_at_the_parents_max_charges_no_level, limited) {
    make("/case/p", "1M");
    allot_tenant *a = make("/case/p/a", "900K"), *b = make("/case/p/b");
    heap_set_active(a);
    std::vector<void *> of_a;
    for (int i = 0; i < 800; ++i) of_a.push_back(heap_malloc(1024));
    heap_set_active(b);
    std::vector<void *> of_b = fill_up(1024);
    BOOST_TEST(of_b.size() == 224u); // what the parent's limit leaves, although a holds stock
    figures parent = of("/case/p"), child = of("/case/p/b");
    BOOST_TEST(heap_malloc(1024) == nullptr);
    BOOST_TEST((of("/case/p") == parent));
    BOOST_TEST((of("/case/p/b") == child));
    BOOST_TEST(keyed(b, "memory.events.local", "oom") == 0u); // the parent's limit was in the way
    free_all(of_b);
    free_all(of_a);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_limit_is_taken_up_by_another_thread_though_this_one_holds_stock, limited) {
    allot_tenant *t = make("/case/t", "2M");
    heap_set_active(t);
    void *p = heap_malloc(1024);
    heap_free(p);
    std::thread([&] {
        heap_set_active(t);
        std::vector<void *> held = fill_up(1024);
        BOOST_TEST(held.size() == 2048u);
        free_all(held);
    }).join();
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(what_a_destroyed_tenant_held_is_its_parents_and_can_still_be_freed, allocated) {
    make("/case/p");
    allot_tenant *t = make("/case/p/t");
    heap_set_active(t);
    std::vector<void *> held;
    for (std::size_t size : {std::size_t{64}, 4 * kib, 200 * kib, 2 * mib}) held.push_back(heap_malloc(size));
    heap_set_active(top);
    BOOST_TEST(tenant_destroy(t) == 0);
    int error = 0;
    allot_tenant *parent = tenant_open("/case/p", error);
    for (void *p : held) BOOST_TEST(heap_owner_of(p) == parent);
    BOOST_TEST(tenant_current(parent) == 64 + 4 * kib + 200 * kib + 2 * mib);
    for (void *p : held) heap_free(p);
    BOOST_TEST(tenant_current(parent) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_freed_slot_is_the_next_one_handed_out, allocated) {
    heap_set_active(tenant_default());
    for (std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
        void *keep = heap_malloc(size), *p = heap_malloc(size);
        heap_free(p);
        BOOST_TEST(heap_malloc(size) == p);
        heap_free(p);
        heap_free(keep);
    }
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(the_slot_freed_last_is_the_next_handed_out_whichever_slab_it_is_in, allocated) {
    heap_set_active(tenant_default());
    constexpr std::size_t in_slab = unit_bytes / 4096;
    std::vector<void *> held;
    for (std::size_t i = 0; i < 3 * in_slab; ++i) held.push_back(heap_malloc(4096));
    for (std::size_t at : {std::size_t{5}, 2 * in_slab + 5, in_slab + 5, std::size_t{6}}) {
        heap_free(held[at]);
        BOOST_TEST(heap_malloc(4096) == held[at]);
    }
    free_all(held);
}

// Slabs are listed by the first frees, used up by the mallocs that follow them there, and needed again afterwards: found with
// room or not, they must be told apart.
BOOST_FIXTURE_TEST_CASE(slabs_that_are_used_up_while_they_are_listed_are_found_again_once_they_have_room, allocated) {
    heap_set_active(tenant_default());
    constexpr std::size_t in_slab = unit_bytes / 4096;
    std::vector<void *> held;
    for (std::size_t i = 0; i < 4 * in_slab; ++i) held.push_back(heap_malloc(4096));
    std::uint32_t in_use = units_in_use();
    for (int round = 0; round < 20; ++round) {
        // Some of each slab, slab by slab; then as many again: no slab is new, and each block is one of those.
        std::vector<void *> freed;
        for (std::size_t i = 0; i < held.size(); i += 4) freed.push_back(std::exchange(held[i], nullptr));
        free_all(freed);
        for (void *&p : held)
            if (p == nullptr) p = heap_malloc(4096);
        BOOST_TEST_REQUIRE(units_in_use() == in_use);
        // Hand to hand in one slab after the other, which leaves each of them full and chosen in its turn.
        for (std::size_t i = 1; i < held.size(); i += 3) {
            heap_free(held[i]);
            held[i] = heap_malloc(4096);
        }
        BOOST_TEST_REQUIRE(units_in_use() == in_use);
    }
    std::sort(held.begin(), held.end());
    BOOST_TEST((std::adjacent_find(held.begin(), held.end()) == held.end()));
    free_all(held);
}

BOOST_FIXTURE_TEST_CASE(empty_slabs_go_back_one_by_one, allocated) {
    heap_set_active(tenant_default());
    std::vector<void *> held;
    for (std::size_t i = 0; i < 10 * unit_bytes / 1024; ++i) held.push_back(heap_malloc(1024));
    std::uint32_t full = units_in_use();
    for (void *p : held) heap_free(p);
    BOOST_TEST(units_in_use() <= full - 9); // one stays in the bin
    heap_trim(0);
    BOOST_TEST(units_in_use() <= full - 10);
    heap_set_active(top);
}

// Whatever pages it has not touched yet, a new slab's memory has not been touched by the allocator either.
BOOST_FIXTURE_TEST_CASE(slots_are_carved_a_page_at_a_time, allocated) {
    heap_set_active(tenant_default());
    void *p = heap_malloc(48);
    BOOST_TEST(slab_of(p)->carved == 4096u / 48u);
    heap_free(p);
    heap_set_active(top);
}

// The thread's own memory is used up: it has a home, but opens no heap for another owner any more.
BOOST_FIXTURE_TEST_CASE(owners_are_credited_also_by_a_thread_that_cannot_open_a_heap, limited) {
    allot_tenant *t = make("/case/t");
    child_end end = in_child([&] {
        heap_free(heap_malloc(10)); // a home for this thread
        void *held[3] = {};
        std::thread([&] {
            heap_set_active(t);
            held[0] = heap_malloc(100);
            held[1] = heap_malloc(200 * kib);
            held[2] = heap_malloc(3 * mib);
        }).join();
        for (std::size_t bytes : {60000, 128})
            while (wiped_alloc(bytes) != nullptr) {}
        std::uint32_t owner = obj_cgroup_of(t);
        if (heap_for_owner(home_here(), owner) != nullptr) return 1;
        for (void *p : held) heap_free(p);
        return tenant_current(t) == 0 && verify().differences == 0 ? 0 : 2;
    });
    BOOST_TEST(end.exited_with(0), end.status << end.text);
}
