#define BOOST_TEST_MODULE obj_cgroup
#include <boost/test/unit_test.hpp>

#include "accounting/obj_cgroup.hpp"

#include "accounting/context_table.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(a_destroyed_tenants_objects_belong_to_its_parent, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_of(a);
    context *c = context_open(handle);
    BOOST_TEST_REQUIRE(charge(c, 4096));
    BOOST_TEST((tenant_of(handle) == a));
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    BOOST_TEST((tenant_of(handle) == top));
    BOOST_TEST(number(top, "memory.current") == 4096u);
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == 1u);
    uncharge(c, 4096);
    context_close(c);
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == 0u);
}

BOOST_FIXTURE_TEST_CASE(handles_of_several_generations_end_at_the_nearest_that_lives, verified) {
    std::vector<context *> contexts;
    for (int i = 0; i < 5; ++i) {
        allot_tenant *t = make("/case/a/b/c");
        contexts.push_back(context_open(obj_cgroup_of(t)));
        BOOST_TEST_REQUIRE(charge(contexts.back(), 1024));
        destroy_below("/case/a");
    }
    BOOST_TEST(number(top, "memory.current") == 5120u);
    for (context *c : contexts) {
        BOOST_TEST((tenant_of(c->obj_cgroup) == top));
        uncharge(c, 1024);
        context_close(c);
    }
}

BOOST_FIXTURE_TEST_CASE(a_handle_is_not_used_again_while_it_is_named, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_of(a);
    obj_cgroup_grab(handle, 3);
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    for (int i = 0; i < 100; ++i) {
        allot_tenant *t = make("/case/t");
        BOOST_TEST_REQUIRE(obj_cgroup_of(t) != handle);
        BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
    }
    obj_cgroup_put(handle, 2);
    BOOST_TEST((tenant_of(handle) == top));
    obj_cgroup_put(handle);
    BOOST_TEST(!obj_cgroup_try_grab(handle));
}

BOOST_FIXTURE_TEST_CASE(records_of_handles_are_used_again_and_not_leaked, verified) {
    make("/case/warm");
    std::uint32_t count = record_count<struct obj_cgroup>();
    for (int i = 0; i < 10000; ++i) {
        allot_tenant *t = make("/case/t");
        BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
    }
    BOOST_TEST(record_count<struct obj_cgroup>() <= count + 1);
}

// A stale C handle never leads to whoever has the record now.
BOOST_FIXTURE_TEST_CASE(a_stale_tenant_stands_for_its_nearest_living_ancestor, verified) {
    make("/case/a");
    allot_tenant *b = make("/case/a/b");
    BOOST_TEST_REQUIRE(tenant_destroy(b) == 0);
    int error;
    BOOST_TEST(obj_cgroup_of(b) == obj_cgroup_of(tenant_open("/case/a", error)));
    destroy_below("/case/a");
    BOOST_TEST(obj_cgroup_of(b) == obj_cgroup_of(top));
    BOOST_TEST((tenant_from(b) == nullptr));
}

BOOST_FIXTURE_TEST_CASE(charging_threads_survive_the_end_of_their_tenant, verified) {
    std::atomic<bool> done{false};
    std::atomic<allot_tenant *> now{make("/case/t")};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            while (!done) {
                context *c = context_open(obj_cgroup_of(now));
                if (c == nullptr) continue; // its handle was freed between the two calls
                for (int k = 0; k < 200; ++k)
                    if (charge(c, 4096)) uncharge(c, 4096);
                context_close(c);
            }
        });
    for (int i = 0; i < 300; ++i) {
        allot_tenant *old = now;
        BOOST_TEST_REQUIRE(tenant_destroy(old) == 0);
        now = make("/case/t");
    }
    done = true;
    for (std::thread &t : threads) t.join();
    BOOST_TEST(usage_of("/case") == 0u);
}

// Without a lock and against a destroyer: what is got is held, so it always names a living tenant, and is never freed
// twice or leaked.
BOOST_FIXTURE_TEST_CASE(a_handle_that_is_got_is_held_whatever_becomes_of_its_tenant, verified) {
    std::uint32_t before = record_count<struct obj_cgroup>();
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> unheld{0}, got{0};
    std::atomic<allot_tenant *> now{make("/case/t")};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            while (!done) {
                std::uint32_t handle = obj_cgroup_get(now);
                for (int k = 0; k < 20; ++k)
                    if (tenant_named_by(handle) == nullptr) ++unheld;
                obj_cgroup_put(handle);
                ++got;
            }
        });
    for (int i = 0; i < 20000 || got < 20000; ++i) {
        allot_tenant *old = now;
        BOOST_TEST_REQUIRE(tenant_destroy(old) == 0);
        now = make("/case/t");
    }
    done = true;
    for (std::thread &t : threads) t.join();
    BOOST_TEST(unheld == 0u);
    BOOST_TEST(record_count<struct obj_cgroup>() <= before + 8);
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_is_got_for_a_stale_tenant_is_its_nearest_living_ancestors_and_held, verified) {
    allot_tenant *a = make("/case/a");
    allot_tenant *b = make("/case/a/b");
    BOOST_TEST_REQUIRE(tenant_destroy(b) == 0);
    std::uint32_t handle = obj_cgroup_get(b);
    BOOST_TEST(handle == obj_cgroup_of(a));
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    BOOST_TEST((tenant_of(handle) == top));
    obj_cgroup_put(handle);
    BOOST_TEST(!obj_cgroup_try_grab(handle));
}

// A handler that interrupted one of our own functions may not wait for the registry.
BOOST_FIXTURE_TEST_CASE(under_a_lock_a_stale_tenant_stands_for_the_root, verified) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    lock_take(region().registry_lock.word, lock_rank::registry);
    std::uint32_t handle = obj_cgroup_get(a);
    std::uint32_t unheld = obj_cgroup_of(a);
    lock_give(region().registry_lock.word, lock_rank::registry);
    BOOST_TEST(handle == obj_cgroup_of(tenant_root()));
    BOOST_TEST(unheld == handle);
    obj_cgroup_put(handle);
}

// What is freed late is freed under whichever tenant it belongs to by then. The tables must not grow with the dead but by
// the handles that are still named: 32 bytes each.
BOOST_FIXTURE_TEST_CASE(a_hundred_thousand_tenants_that_leave_an_object_each_leave_a_handle_each_and_no_more,
                        verified) {
    constexpr std::uint32_t count = 100000;
    const std::uint32_t tenants = record_count<tenant>(), handles = record_count<obj_cgroup>(),
                        contexts = record_count<context_record>();
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < count; ++i) {
        allot_tenant *t = make("/case/t");
        context *c = context_open(obj_cgroup_of(t));
        left.push_back(c->obj_cgroup);
        obj_cgroup_grab(left.back()); // as a slab's vector does
        BOOST_TEST_REQUIRE(charge(c, 16));
        context_close(c);
        BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
    }
    BOOST_TEST(record_count<tenant>() <= tenants + 1);
    BOOST_TEST(record_count<context_record>() <= contexts + 1);
    BOOST_TEST(record_count<obj_cgroup>() <= handles + count + 1);
    BOOST_TEST(number(top, "memory.current") == 16u * count);
    BOOST_TEST(keyed(top, "memory.stat", "objects") == count);
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == count);
    for (std::uint32_t handle : left) {
        context *c = context_open(handle);
        uncharge(c, 16);
        context_close(c);
        obj_cgroup_put(handle);
    }
    BOOST_TEST(number(top, "memory.current") == 0u);
    BOOST_TEST(keyed(top, "cgroup.stat", "nr_dying_descendants") == 0u);
    make("/case/t");
    BOOST_TEST(record_count<obj_cgroup>() <= handles + count + 1); // all can be used again
}

// Each thread's tenants come and go, several deep, with what they have charged; all share a limit that moves and refuses
// most of the time, so that drains go on in the tree that changes.
BOOST_FIXTURE_TEST_CASE(tenants_end_amid_charges_refusals_and_drains_of_others, verified) {
    constexpr int threads = 6;
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    std::atomic<bool> done{false};
    auto live = [&](int number) {
        const std::string root = "/case/" + std::to_string(number);
        for (int round = 0; !done; ++round) {
            std::vector<context *> contexts;
            std::vector<std::int64_t> sizes;
            for (const char *path : {"", "/a", "/a/b"}) {
                allot_tenant *t = tenant_create_path((root + path).c_str());
                contexts.push_back(context_open(obj_cgroup_of(t)));
            }
            std::int64_t size = 4096 << round % 5;
            for (context *c : contexts) {
                std::int64_t charged = 0;
                while (charged < 400 * 1024 && charge(c, size)) charged += size;
                sizes.push_back(charged);
                if (!charge_bytes(c->obj_cgroup, 4096, charge_kind::external)) continue;
                uncharge_bytes(c->obj_cgroup, 4096, charge_kind::external);
            }
            int error = 0;
            for (const char *path : {"/a/b", "/a", ""}) {
                if (tenant_destroy(tenant_open((root + path).c_str(), error)) != 0) std::abort();
                for (std::size_t i = 0; i < contexts.size(); ++i) // chains of the dead are freed piece by piece
                    if (sizes[i] >= size) uncharge(contexts[i], size), sizes[i] -= size;
            }
            for (std::size_t i = 0; i < contexts.size(); ++i) {
                for (; sizes[i] > 0; sizes[i] -= size) uncharge(contexts[i], size);
                context_close(contexts[i]);
            }
        }
    };
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back(live, t);
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
    while (std::chrono::steady_clock::now() < end)
        for (const char *max : {"1M", "300K", "max", "64K", "2M"}) {
            if (tenant_set(top, "memory.max", max) != 0) std::abort();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    done = true;
    for (std::thread &t : all) t.join();
    BOOST_TEST(usage_of("/case") == 0u);
    BOOST_TEST(tenant_from(top)->nr_descendants == 0u);
    BOOST_TEST(keyed(top, "memory.events", "oom") > 0u);
}

// A reference that is taken from a handle without any would name what may be another's by then.
BOOST_FIXTURE_TEST_CASE(no_reference_is_taken_from_a_handle_that_has_none, verified) {
    for (int round = 0; round < 300; ++round) {
        allot_tenant *t = make("/case/t");
        std::uint32_t handle = obj_cgroup_get(t);
        BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i)
            threads.emplace_back([&] {
                for (int n = 0; n < 50; ++n) {
                    if (!obj_cgroup_try_grab(handle)) return; // and never again
                    obj_cgroup_put(handle);
                }
            });
        obj_cgroup_put(handle);
        for (std::thread &thread : threads) thread.join();
        BOOST_TEST_REQUIRE(!obj_cgroup_try_grab(handle));
        BOOST_TEST_REQUIRE(record_at<obj_cgroup>(handle).references.load() == 0u);
    }
}
