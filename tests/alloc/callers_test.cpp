// Callers are addresses here: what lies in [library(n), library(n) + 4096) is code of library n, as the rules below say.
#define BOOST_TEST_MODULE callers
#include <boost/test/unit_test.hpp>

#include "alloc/callers.hpp"

#include "alloc/reset.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

using namespace allot;

namespace {

const void *library(std::uintptr_t n, std::uintptr_t offset = 1) {
    return reinterpret_cast<const void *>(n * 4096 + offset);
}
constexpr std::uintptr_t the_loader = 9;

allot_tenant *tenants[2];
std::atomic<int> questions{0};
std::atomic<std::uint32_t> rule_of_library_7{0}; // whose code changes

std::uint32_t rule_of(const void *address) {
    ++questions;
    switch (reinterpret_cast<std::uintptr_t>(address) / 4096) {
    case 1: return 1;
    case 2: return 2;
    case 7: return rule_of_library_7;
    case the_loader: return asked_by_loader;
    default: return 0;
    }
}
const caller_rules rules{rule_of, tenants};

struct told_apart : allocated {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    told_apart() {
        tenants[0] = a;
        tenants[1] = b;
        heap_set_callers(&rules);
    }
    ~told_apart() { tenants[0] = tenants[1] = nullptr; }
};

std::uint64_t current(allot_tenant *t) { return verified::number(t, "memory.current"); }

// Not a tail call: what follows it keeps the frame.
[[gnu::noinline]] void *exported_malloc(std::size_t size) { return fast_malloc<caller_misses>(size); }

} // namespace

BOOST_FIXTURE_TEST_CASE(a_block_is_charged_to_the_tenant_of_its_caller, told_apart) {
    for (std::size_t size : {1, 64, 1000, 5000, 60000, 100000, 3000000}) {
        void *of_a = malloc_for_caller(size, library(1)), *of_b = calloc_for_caller(2, size, library(2));
        void *of_nobody = malloc_for_caller(size, library(3)),
             *aligned = aligned_alloc_for_caller(256, size, library(1));
        BOOST_TEST((heap_owner_of(of_a) == a && heap_owner_of(of_b) == b && heap_owner_of(of_nobody) == top &&
                    heap_owner_of(aligned) == a));
        BOOST_TEST(current(a) == heap_usable_size(of_a) + heap_usable_size(aligned));
        BOOST_TEST(current(b) == heap_usable_size(of_b));
        BOOST_TEST(current(top) == current(a) + current(b) + heap_usable_size(of_nobody));
        const auto *zeros = static_cast<const char *>(of_b);
        for (std::size_t i = 0; i < 2 * size; ++i) BOOST_TEST_REQUIRE(zeros[i] == 0);
        for (void *p : {of_a, of_b, of_nobody, aligned}) heap_free(p);
        BOOST_TEST(current(top) == 0u);
    }
    BOOST_TEST(heap_active() == top);
}

// With many objects, so that a heap gets slabs of its own and most calls end without a visit.
BOOST_FIXTURE_TEST_CASE(many_blocks_of_each_stay_apart, told_apart) {
    std::vector<void *> held;
    for (int i = 0; i < 20000; ++i) {
        void *p = malloc_for_caller(100, library(1 + static_cast<std::uintptr_t>(i % 3)));
        BOOST_TEST_REQUIRE(heap_owner_of(p) == (i % 3 == 0 ? a : i % 3 == 1 ? b : top));
        held.push_back(p);
    }
    BOOST_TEST(current(b) == 6667u * heap_usable_size(held[1]));
    std::thread([&] { // another thread frees half of them
        for (std::size_t i = 0; i < held.size(); i += 2) heap_free(held[i]);
    })
        .join();
    BOOST_TEST(current(b) == 3334u * heap_usable_size(held[1]));
    for (std::size_t i = 1; i < held.size(); i += 2) heap_free(held[i]);
    BOOST_TEST(current(top) == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_address_is_that_of_whoever_calls_the_exported_name, told_apart) {
    static const void *asked;
    static const caller_rules records{[](const void *address) -> std::uint32_t {
                                          asked = address;
                                          return 0;
                                      },
                                      tenants};
    heap_set_callers(&records);
    heap_free(malloc_for_caller(1, library(the_loader))); // nothing: answers of before are for other addresses
    void *p = exported_malloc(64);
    auto distance = reinterpret_cast<std::intptr_t>(asked) - reinterpret_cast<std::intptr_t>(&exported_malloc);
    BOOST_TEST(std::abs(distance) < (8 << 20)); // in this program, which is not there where the stack is
    BOOST_TEST((asked != static_cast<const void *>(p) && asked != nullptr));
    heap_free(p);
    heap_set_callers(&rules);
}

BOOST_FIXTURE_TEST_CASE(a_refused_library_leaves_its_host_alone, told_apart) {
    BOOST_TEST(tenant_set(a, "memory.max", "100000") == 0);
    std::vector<void *> held;
    while (void *p = malloc_for_caller(1000, library(1))) held.push_back(p);
    BOOST_TEST(held.size() > 90u);
    BOOST_TEST(held.size() < 100u);
    BOOST_TEST(malloc_for_caller(200000, library(1)) == nullptr);
    BOOST_TEST(calloc_for_caller(2, 100000, library(1)) == nullptr);
    void *of_host = malloc_for_caller(200000, library(3)), *of_other = malloc_for_caller(200000, library(2));
    BOOST_TEST((of_host != nullptr && of_other != nullptr));
    heap_free(held.back()); // by the host, and the library has room again
    held.back() = malloc_for_caller(1000, library(1));
    BOOST_TEST(held.back() != nullptr);
    held.push_back(of_host);
    held.push_back(of_other);
    for (void *p : held) heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_resized_in_place_keeps_its_owner_and_one_that_moves_is_its_callers,
                        told_apart) {
    void *p = malloc_for_caller(1000, library(1));
    BOOST_TEST(realloc_for_caller(p, 990, library(2)) == p);
    BOOST_TEST(heap_owner_of(p) == a);
    p = realloc_for_caller(p, 3000, library(2));
    BOOST_TEST(heap_owner_of(p) == b);
    p = move_for_caller(p, heap_usable_size(p), 9000, library(3));
    BOOST_TEST(heap_owner_of(p) == top);
    p = realloc_for_caller(p, 0, library(1));
    BOOST_TEST(p == nullptr);
    p = realloc_for_caller(nullptr, 70000, library(1));
    BOOST_TEST(heap_owner_of(p) == a);
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(frees_stay_on_the_fast_path, told_apart) {
    BOOST_TEST(thread_here.active != &front_of_nobody);
    BOOST_TEST(thread_here.active->tag == thread_here.in_home->tag);
    for (unsigned c = 0; c < nr_classes; ++c)
        BOOST_TEST_REQUIRE(chosen_slab(thread_here.active, c) == tables.none.of_class[c]);
}

BOOST_FIXTURE_TEST_CASE(a_call_site_is_asked_about_once_until_the_loader_has_called, told_apart) {
    rule_of_library_7 = 1;
    heap_free(malloc_for_caller(64, library(the_loader)));
    questions = 0;
    for (int i = 0; i < 100; ++i) {
        void *p = malloc_for_caller(64, library(7));
        BOOST_TEST_REQUIRE(heap_owner_of(p) == a);
        heap_free(p);
    }
    BOOST_TEST(questions == 1);
    // Another library comes to the same address.
    heap_free(malloc_for_caller(64, library(the_loader)));
    rule_of_library_7 = 2;
    void *p = malloc_for_caller(64, library(7));
    BOOST_TEST(heap_owner_of(p) == b);
    heap_free(p);
    heap_free(malloc_for_caller(64, library(the_loader)));
    rule_of_library_7 = 0;
    p = malloc_for_caller(64, library(7));
    BOOST_TEST(heap_owner_of(p) == top);
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_said_it_is_unaccounted_is_believed, told_apart) {
    heap_unaccounted_begin();
    void *p = malloc_for_caller(64, library(1));
    heap_unaccounted_end();
    BOOST_TEST(heap_owner_of(p) == tenant_root());
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_scope_serves_what_allocates_by_other_names, told_apart) {
    {
        caller_scope in(library(2));
        BOOST_TEST(heap_active() == b);
    }
    BOOST_TEST(heap_active() == top);
    caller_scope in(library(3));
    BOOST_TEST(heap_active() == top);
}

BOOST_FIXTURE_TEST_CASE(threads_change_their_tenants_meanwhile, told_apart) {
    allot_tenant *c = make("/case/c");
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::array<void *, 64> held{};
            for (unsigned i = 0; i < 20000; ++i) {
                allot_tenant *own = (i >> 8) % 2 == 0 ? top : c;
                if (i % 256 == 0) heap_set_active(own);
                void *&p = held[(i * 7 + static_cast<unsigned>(t)) % held.size()];
                heap_free(p);
                std::uintptr_t n = 1 + i % 3;
                p = malloc_for_caller(16 + i % 2000, library(n, i % 97));
                if (heap_owner_of(p) != (n == 1 ? a : n == 2 ? b : own)) ++wrong;
            }
            for (void *p : held) heap_free(p);
            heap_set_active(top);
        });
    for (std::thread &thread : threads) thread.join();
    BOOST_TEST(wrong == 0);
    BOOST_TEST(current(top) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_child_charges_by_the_same_rules_and_pays_for_nothing_that_it_inherited, told_apart) {
    void *inherited = malloc_for_caller(5000, library(1));
    child_end end = in_child([&] {
        void *p = malloc_for_caller(1000, library(1)), *q = malloc_for_caller(1000, library(3));
        if (heap_owner_of(p) != tenants[0]) return 1;
        if (heap_owner_of(q) == tenants[0]) return 2;
        if (current(tenants[0]) != heap_usable_size(p)) return 3;
        heap_free(inherited);
        heap_free(p);
        return current(tenants[0]) == 0 ? 0 : 4;
    });
    BOOST_TEST(end.exited_with(0), end.text);
    BOOST_TEST(current(a) == heap_usable_size(inherited));
    heap_free(inherited);
}

// The library's blocks live while it runs; a reset takes them all, or is told that somebody is inside.
BOOST_FIXTURE_TEST_CASE(a_tenant_is_reset_while_its_library_allocates, told_apart) {
    std::atomic<bool> stop{false};
    std::thread allocates([&] {
        while (!stop)
            for (int i = 0; i < 50; ++i) (void)malloc_for_caller(48, library(1));
    });
    int done = 0;
    for (int i = 0; i < 2000; ++i) {
        int answer = heap_reset(a);
        BOOST_TEST_REQUIRE((answer == 0 || answer == -EBUSY));
        done += answer == 0;
    }
    stop = true;
    allocates.join();
    BOOST_TEST(heap_reset(a) == 0);
    BOOST_TEST(current(a) == 0u);
    BOOST_TEST(done > 0);
}
