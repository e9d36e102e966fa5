// Bugs that other trackers of memory had when a group of memory ended, each as the behaviour that would have shown it.
#define BOOST_TEST_MODULE regression_teardown
#include "tests/regression/tenants.hpp"

#include <cerrno>

BOOST_FIXTURE_TEST_CASE(what_is_left_behind_belongs_to_the_parent_and_is_credited_to_it, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(a, "b");
    void *p = allot_malloc_in(b, 3000);
    void *large = allot_malloc_in(b, 3 << 20);
    std::uint64_t size = allot_usable_size(p) + allot_usable_size(large);
    BOOST_TEST(allot_tenant_destroy(b) == 0);
    BOOST_TEST(allot_tenant_current(a) == size);
    BOOST_TEST(allot_owner_of(p) == a);
    BOOST_TEST(allot_tenant_destroy(a) == 0);
    BOOST_TEST(allot_owner_of(p) == top);
    BOOST_TEST(allot_tenant_current(top) == size);
    allot_free(p);
    allot_free(large);
}

BOOST_FIXTURE_TEST_CASE(tenants_that_leave_an_object_each_do_not_pile_up, tenants) {
    constexpr unsigned nr_tenants = 100000;
    std::vector<void *> left;
    for (unsigned i = 0; i < nr_tenants; ++i) {
        allot_tenant *brief = allot_tenant_create(top, "brief");
        BOOST_TEST_REQUIRE(brief != nullptr);
        allot_set_active(brief);
        left.push_back(allot_malloc(48));
        allot_set_active(nullptr);
        BOOST_TEST_REQUIRE(allot_tenant_destroy(brief) == 0);
    }
    BOOST_TEST(allot_tenant_current(top) == nr_tenants * allot_usable_size(left[0]));
    BOOST_TEST(key(top, "cgroup.stat", "nr_descendants") == 0u);
    BOOST_TEST(key(top, "cgroup.stat", "nr_dying_descendants") == nr_tenants);
    for (void *p : left) allot_free(p);
    // At most as many as a thread keeps accounts with that it does not use.
    BOOST_TEST(key(top, "cgroup.stat", "nr_dying_descendants") <= 65u);
}

BOOST_FIXTURE_TEST_CASE(no_byte_stays_behind_when_tenants_come_and_go_with_odd_sizes, tenants) {
    for (unsigned i = 0; i < 2000; ++i) {
        allot_tenant *brief = allot_tenant_create(top, "brief");
        allot_set_active(brief);
        void *p = allot_malloc(92), *q = allot_malloc(4003);
        std::thread([p] { allot_free(p); }).join();
        allot_free(q);
        allot_set_active(nullptr);
        BOOST_TEST_REQUIRE(allot_tenant_destroy(brief) == 0);
        BOOST_TEST_REQUIRE(allot_tenant_current(top) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_ends_gives_back_its_stock_and_what_it_owed, tenants) {
    allot_tenant *a = make(top, "a", "64M");
    void *p = nullptr;
    std::thread([&] {
        allot_set_active(a);
        p = allot_malloc(1000);
    }).join();
    BOOST_TEST(key(a, "memory.stat", "stock") == 0u);
    BOOST_TEST(allot_tenant_current(a) == allot_usable_size(p));
    allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(stock_held_for_a_tenant_that_is_gone_can_be_taken_by_its_parent, tenants) {
    allot_tenant *parent = make(top, "parent", "4M");
    allot_tenant *brief = allot_tenant_create(parent, "brief");
    idle_threads idle(8, [&](unsigned) {
        allot_set_active(brief);
        allot_free(allot_malloc(64));
    });
    std::uint64_t held = key(brief, "memory.stat", "stock");
    BOOST_TEST(held > 0u);
    BOOST_TEST_REQUIRE(allot_tenant_destroy(brief) == 0);
    BOOST_TEST(key(parent, "memory.stat", "stock") == held);
    BOOST_TEST(allot_tenant_current(parent) == 0u);
    BOOST_TEST(allot_try_charge(parent, 4u << 20) == 0); // all of it
    BOOST_TEST(key(parent, "memory.stat", "stock") == 0u);
    allot_uncharge(parent, 4u << 20);
}

BOOST_FIXTURE_TEST_CASE(a_handle_of_a_tenant_that_is_gone_is_refused_and_its_users_go_on_with_an_ancestor, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(a, "b");
    allot_set_active(b);
    BOOST_TEST(allot_tenant_destroy(b) == 0);
    BOOST_TEST(allot_tenant_destroy(b) == -ESTALE);
    BOOST_TEST(allot_tenant_set(b, "memory.max", "1M") == -ESTALE);
    char text[64];
    BOOST_TEST(allot_tenant_get(b, "memory.current", text, sizeof text) == -ESTALE);
    BOOST_TEST((allot_tenant_create(b, "c") == nullptr && errno == ESTALE));
    void *p = allot_malloc(500);
    BOOST_TEST(allot_owner_of(p) == a);
    allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_is_destroyed_while_others_charge_free_and_drain_in_it, tenants) {
    allot_tenant *parent = make(top, "parent", "16M");
    std::atomic<allot_tenant *> now{allot_tenant_create(parent, "brief")};
    std::atomic<bool> done{false};
    std::atomic<unsigned> wrong{0};
    std::thread destroyer([&] {
        for (unsigned i = 0; i < 3000; ++i) {
            allot_tenant *next = allot_tenant_create(parent, ("brief" + std::to_string(i)).c_str());
            if (allot_tenant_destroy(now.exchange(next)) != 0) wrong++;
        }
        done = true;
    });
    std::thread refused([&] {
        while (!done)
            if (allot_try_charge(parent, 17u << 20) != -ENOMEM) wrong++;
    });
    on_threads(4, [&](unsigned) {
        std::vector<void *> blocks;
        while (!done) {
            allot_set_active(now);
            for (unsigned i = 0; i < 50; ++i)
                if (void *p = allot_malloc(16 + i * 40)) blocks.push_back(p);
            for (unsigned i = 0; i < 50 && !blocks.empty(); ++i) {
                allot_free(blocks.back());
                blocks.pop_back();
            }
        }
        for (void *p : blocks) allot_free(p);
    });
    destroyer.join();
    refused.join();
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(allot_tenant_destroy(now) == 0);
}

BOOST_FIXTURE_TEST_CASE(protection_of_a_destroyed_tenant_leaves_no_trace_above, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(a, "b");
    BOOST_TEST(allot_tenant_set(b, "memory.min", "1M") == 0);
    BOOST_TEST(allot_tenant_set(b, "memory.low", "2M") == 0);
    BOOST_TEST(allot_try_charge(b, 3u << 20) == 0);
    BOOST_TEST(allot_tenant_destroy(b) == 0);
    allot_uncharge(a, 3u << 20); // a's now; the case's recount looks at the sums of what children protect
}
