// Bugs that other trackers of memory had in what they charge and uncharge, each as the behaviour that would have shown it.
#define BOOST_TEST_MODULE regression_charges
#include "tests/regression/tenants.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

BOOST_FIXTURE_TEST_CASE(whoever_frees_and_for_whomever_it_works_the_owner_is_credited, tenants) {
    constexpr unsigned nr_threads = 8, nr_tenants = 6, nr_objects = 400;
    std::vector<allot_tenant *> all;
    for (unsigned i = 0; i < nr_tenants; ++i) all.push_back(make(top, ("t" + std::to_string(i)).c_str()));
    std::vector<void *> objects(nr_threads * nr_objects);
    on_threads(nr_threads, [&](unsigned number) {
        std::mt19937 random(number);
        for (unsigned i = 0; i < nr_objects; ++i) {
            allot_set_active(all[random() % nr_tenants]);
            objects[number * nr_objects + i] = allot_malloc(1 + random() % 3000);
        }
    });
    std::vector<std::uint64_t> used(nr_tenants);
    for (void *p : objects)
        for (unsigned t = 0; t < nr_tenants; ++t)
            if (allot_owner_of(p) == all[t]) used[t] += allot_usable_size(p);
    for (unsigned t = 0; t < nr_tenants; ++t) BOOST_TEST(allot_tenant_current(all[t]) == used[t]);
    std::shuffle(objects.begin(), objects.end(), std::mt19937(7));
    on_threads(nr_threads, [&](unsigned number) {
        std::mt19937 random(100 + number);
        for (unsigned i = 0; i < nr_objects; ++i) {
            allot_set_active(all[random() % nr_tenants]);
            allot_free(objects[number * nr_objects + i]);
        }
    });
    for (allot_tenant *t : all) BOOST_TEST(allot_tenant_current(t) == 0u);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_lost_where_a_thread_changes_its_tenant_a_million_times, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(top, "b");
    std::vector<void *> kept;
    for (unsigned i = 0; i < 1000000; ++i) {
        allot_set_active(i % 2 == 0 ? a : b);
        void *p = allot_malloc(136);
        if (i % 10000 == 0)
            kept.push_back(p);
        else
            allot_free(p);
    }
    std::uint64_t size = allot_usable_size(kept[0]);
    BOOST_TEST(allot_tenant_current(a) == kept.size() * size);
    BOOST_TEST(allot_tenant_current(b) == 0u);
    for (void *p : kept) allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(what_the_last_tenant_left_in_stock_is_not_charged_to_the_next, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(top, "b");
    allot_set_active(a);
    void *p = allot_malloc(4000);
    allot_set_active(b);
    BOOST_TEST(allot_tenant_current(b) == 0u);
    BOOST_TEST(allot_tenant_current(a) == allot_usable_size(p));
    BOOST_TEST(key(b, "memory.stat", "stock") == 0u);
    allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_that_uses_one_kibibyte_shows_it, tenants) {
    allot_tenant *a = make(top, "a");
    void *p = allot_malloc_in(a, 1024);
    BOOST_TEST(number(a, "memory.current") == allot_usable_size(p));
    BOOST_TEST(number(top, "memory.current") == allot_usable_size(p));
    allot_free(p);
    BOOST_TEST(number(a, "memory.current") == 0u);
}

BOOST_FIXTURE_TEST_CASE(memory_that_the_allocator_keeps_is_nobodys_use, tenants) {
    allot_set_active(top);
    std::vector<void *> blocks;
    for (unsigned i = 0; i < 20000; ++i) blocks.push_back(allot_malloc(4096));
    BOOST_TEST(allot_tenant_current(top) == 20000u * 4096);
    for (void *p : blocks) allot_free(p);
    BOOST_TEST(allot_tenant_current(top) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_million_reallocs_leave_the_sum_of_usable_sizes, tenants) {
    allot_set_active(top);
    std::mt19937 random(3);
    std::vector<void *> blocks(64, nullptr);
    for (unsigned i = 0; i < 1000000; ++i) {
        void *&p = blocks[random() % blocks.size()];
        std::size_t size = random() % 100 == 0 ? random() % 2000000 : random() % 3000;
        p = allot_realloc(p, size); // size 0 frees
    }
    std::uint64_t sum = 0;
    for (void *p : blocks) sum += allot_usable_size(p);
    BOOST_TEST(allot_tenant_current(top) == sum);
    for (void *p : blocks) allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(freed_in_bulk_each_object_is_uncharged, tenants) {
    allot_set_active(top);
    allot_kmem_cache *cache = allot_kmem_cache_create("bulk", 100, 0, ALLOT_CACHE_DEFAULT, nullptr);
    void *objects[333];
    BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 333, objects) == 333u);
    BOOST_TEST(key(top, "memory.stat", "objects") == 333u);
    allot_kmem_cache_free_bulk(cache, 333, objects);
    BOOST_TEST(allot_tenant_current(top) == 0u);
    BOOST_TEST(key(top, "memory.stat", "objects") == 0u);
    allot_kmem_cache_destroy(cache);
}

BOOST_FIXTURE_TEST_CASE(a_bulk_that_is_refused_half_way_is_given_back_whole, tenants) {
    allot_tenant *small = make(top, "small", "64K");
    allot_set_active(small);
    allot_kmem_cache *cache = allot_kmem_cache_create("bulk", 1024, 0, ALLOT_CACHE_DEFAULT, nullptr);
    void *objects[100];
    BOOST_TEST(allot_kmem_cache_alloc_bulk(cache, ALLOT_KERNEL, 100, objects) == 0u);
    BOOST_TEST(allot_tenant_current(small) == 0u);
    allot_kmem_cache_destroy(cache);
}

BOOST_FIXTURE_TEST_CASE(objects_shared_by_many_are_charged_once, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(top, "b");
    void *shared = allot_malloc_in(a, 5000);
    std::uint64_t size = allot_usable_size(shared);
    for (unsigned i = 0; i < 10000; ++i) {
        allot_set_active(i % 2 ? a : b);
        *static_cast<volatile char *>(shared) = 1;
    }
    BOOST_TEST(allot_tenant_current(a) == size);
    BOOST_TEST(allot_tenant_current(b) == 0u);
    BOOST_TEST(allot_transfer(shared, b) == 0);
    BOOST_TEST(allot_tenant_current(a) == 0u);
    BOOST_TEST(allot_tenant_current(b) == size);
    allot_free(shared);
}

BOOST_FIXTURE_TEST_CASE(who_touches_memory_first_does_not_pay_for_it, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(top, "b");
    std::vector<void *> blocks;
    for (std::size_t size : {100ul, 50000ul, 500000ul, 8000000ul}) blocks.push_back(allot_malloc_in(a, size));
    std::uint64_t size = 0;
    for (void *p : blocks) size += allot_usable_size(p);
    std::thread([&] {
        allot_set_active(b);
        for (void *p : blocks) std::memset(p, 1, allot_usable_size(p));
    }).join();
    BOOST_TEST(allot_tenant_current(a) == size);
    BOOST_TEST(allot_tenant_current(b) == 0u);
    for (void *p : blocks) allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(giving_back_more_than_was_charged_never_makes_a_figure_negative, tenants) {
    allot_tenant *a = make(top, "a");
    BOOST_TEST(allot_try_charge(a, 1000) == 0);
    allot_uncharge(a, 5000);
    for (allot_tenant *t : {a, top}) {
        BOOST_TEST(number(t, "memory.current") == 0u);
        BOOST_TEST(key(t, "memory.stat", "external") == 0u);
    }
    BOOST_TEST(allot_try_charge(a, 1000) == 0);
    BOOST_TEST(number(top, "memory.current") == 1000u);
    allot_uncharge(a, 1000);
}

BOOST_FIXTURE_TEST_CASE(a_charge_by_hand_remembers_its_tenant_whatever_the_thread_does_meanwhile, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(top, "b");
    allot_set_active(a);
    BOOST_TEST(allot_try_charge(a, 1u << 20) == 0);
    allot_set_active(b);
    void *p = allot_malloc(100);
    allot_uncharge(a, 1u << 20);
    BOOST_TEST(allot_tenant_current(a) == 0u);
    BOOST_TEST(allot_tenant_current(b) == allot_usable_size(p));
    allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(figures_stay_right_where_a_count_or_a_size_fills_its_field, tenants) {
    allot_set_active(top);
    // Bytes of one context beyond 2^31, in blocks that go through it, and a count of objects beyond 2^16.
    std::vector<void *> blocks;
    for (unsigned i = 0; i < 5000; ++i) blocks.push_back(allot_malloc(512 * 1024));
    std::uint64_t size = allot_usable_size(blocks[0]);
    BOOST_TEST(allot_tenant_current(top) == 5000 * size);
    BOOST_TEST(key(top, "memory.stat", "slab") == 5000 * size);
    BOOST_TEST(key(top, "memory.stat", "objects") == 5000u);
    BOOST_TEST(allot_verify(nullptr) == 0);
    for (void *p : blocks) allot_free(p);
    blocks.clear();
    for (unsigned i = 0; i < 100000; ++i) blocks.push_back(allot_malloc(16));
    BOOST_TEST(key(top, "memory.stat", "objects") == 100000u);
    for (void *p : blocks) allot_free(p);
    errno = 0;
    BOOST_TEST(allot_calloc(SIZE_MAX / 8, 16) == nullptr);
    BOOST_TEST(errno == ENOMEM);
    BOOST_TEST(allot_kcalloc((std::size_t{1} << 33), (std::size_t{1} << 33), ALLOT_KERNEL) == nullptr);
}

BOOST_FIXTURE_TEST_CASE(sizes_around_pages_and_their_multiples_leave_no_remainder, tenants) {
    allot_set_active(top);
    for (std::size_t pages = 1; pages <= 3; ++pages)
        for (std::ptrdiff_t off = -17; off <= 17; ++off) {
            void *p = allot_malloc(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(pages * 4096) + off));
            BOOST_TEST(allot_tenant_current(top) == allot_usable_size(p));
            allot_free(p);
            BOOST_TEST(allot_tenant_current(top) == 0u);
        }
}
