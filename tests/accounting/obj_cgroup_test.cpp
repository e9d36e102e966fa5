#define BOOST_TEST_MODULE obj_cgroup
#include <boost/test/unit_test.hpp>

#include "accounting/obj_cgroup.hpp"

#include "accounting/base/os.hpp"
#include "accounting/context_table.hpp"
#include "accounting/drain.hpp"
#include "tests/support/stand_still.hpp"
#include "tests/support/verified.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
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

// Nor for anything else: the last reference is put, what was given back so far is not lost, and only the record is.
BOOST_FIXTURE_TEST_CASE(under_a_lock_the_last_reference_is_put_without_waiting, verified) {
    allot_tenant *a = make("/case/a");
    std::uint32_t handle = obj_cgroup_get(a);
    BOOST_TEST_REQUIRE(charge_bytes(handle, 4096, charge_kind::external));
    BOOST_TEST_REQUIRE(tenant_destroy(a) == 0);
    alarm(60); // instead of hanging
    {
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        lock_scope amid(direct_lock_of(tenant_from(top)->index), lock_rank::direct);
        uncharge_bytes(handle, 4096, charge_kind::external);
        obj_cgroup_put(handle);
    }
    alarm(0);
    BOOST_TEST(!obj_cgroup_try_grab(handle));
    BOOST_TEST(usage_of("/case") == 4096u);
    BOOST_TEST(tenant_set(top, "memory.max", "4K") == 0);
    BOOST_TEST(charge_bytes(obj_cgroup_of(top), 4096, charge_kind::external)); // for which a drain takes it
    uncharge_bytes(obj_cgroup_of(top), 4096, charge_kind::external);
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

// Who charges by a handle reads whom it names, and waits for that tenant's lock while the tenant ends: by then the handle
// names another. Levels of a long chain end one after the other, so that this happens all the time.
BOOST_FIXTURE_TEST_CASE(charges_by_a_handle_follow_it_to_whom_it_is_given, verified) {
    constexpr std::uint64_t bytes = 4096;
    const std::uint64_t anomalies = region().anomalies.load();
    std::atomic<std::uint32_t> handle{0};
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> charges{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            while (!done) {
                std::uint32_t own = handle;
                if (!obj_cgroup_try_grab(own)) continue;
                if (!charge_bytes(own, bytes, charge_kind::external)) std::abort();
                uncharge_bytes(own, bytes, charge_kind::external);
                obj_cgroup_put(own);
                ++charges;
            }
        });
    std::string path = "/case";
    std::vector<std::string> chain;
    while (chain.size() < 25) chain.push_back(path += "/d");
    for (int round = 0; round < 100 || charges < 10000; ++round) {
        std::uint32_t own = obj_cgroup_get(make(path.c_str()));
        handle = own;
        int error = 0;
        for (auto level = chain.rbegin(); level != chain.rend(); ++level)
            BOOST_TEST_REQUIRE(tenant_destroy(tenant_open(level->c_str(), error)) == 0);
        handle = 0;
        obj_cgroup_put(own);
    }
    done = true;
    for (std::thread &t : threads) t.join();
    BOOST_TEST(region().anomalies.load() == anomalies);
    BOOST_TEST(keyed(top, "memory.stat", "external") == 0u);
    BOOST_TEST(usage_of("/case") == 0u);
}

namespace {

// Tenants below /case/a come and go; their records are used at once for others below /case/b, which stay. Whoever looks up one
// of a's, and is stopped amid that while it is replaced, must not come back with one of b's.
struct replaced : verified {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    std::atomic<allot_tenant *> now{make("/case/a/t")};
    // All that a's had: with a reference, so that they are not used again.
    std::vector<std::uint32_t> handles{obj_cgroup_get(now)};
    std::atomic<std::uint32_t> handle{handles[0]};
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> strangers{0};

    // Records are used again in the order in which they were freed: those that are free are used up first.
    replaced() {
        const std::uint32_t count = record_count<tenant>();
        for (unsigned i = 0; record_count<tenant>() == count; ++i) make(("/case/b/free" + std::to_string(i)).c_str());
    }

    // It looks at what it found afterwards, so that it is mostly stopped amid looking up.
    template<class LookUp, class IsStrange>
    void run(LookUp look_up, IsStrange is_strange) {
        signal(SIGUSR1, stand_still);
        std::thread looking([&] {
            decltype(look_up()) found[256];
            while (!done) {
                for (auto &each : found) each = look_up();
                for (auto &each : found)
                    if (is_strange(each)) ++strangers;
            }
        });
        alarm(60); // instead of hanging
        auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        for (unsigned i = 0; i < 5000 && std::chrono::steady_clock::now() < end; ++i) {
            may_go = false;
            pthread_kill(looking.native_handle(), SIGUSR1);
            for (unsigned looks = 1; !is_stopped; ++looks) looks % 256 == 0 ? os_yield() : os_pause();
            replace(i);
            may_go = true;
            for (unsigned looks = 1; is_stopped; ++looks) looks % 256 == 0 ? os_yield() : os_pause();
            for (unsigned pause = 0; pause < i * 37 % 500; ++pause) os_pause();
        }
        alarm(0);
        done = true;
        looking.join();
        signal(SIGUSR1, SIG_DFL);
        BOOST_TEST(strangers == 0u);
        for (std::uint32_t each : handles) obj_cgroup_put(each);
    }

    void replace(unsigned i) {
        if (tenant_destroy(now) != 0) std::abort();
        make(("/case/b/" + std::to_string(i)).c_str());
        now = make("/case/a/t");
        handles.push_back(obj_cgroup_get(now));
        handle = handles.back();
    }

    // For as long as a handle names the same tenant, that one's parent is its own.
    bool names_a_stranger(std::uint32_t index) const {
        for (tenant *t = tenant_named_by(index);;) {
            std::uint32_t parent = t->counter.parent;
            tenant *again = tenant_named_by(index);
            if (again == t) return parent == index_of_b;
            t = again;
        }
    }
    // So it is for as long as its record has the generation.
    bool is_a_stranger(const allot_tenant *t) const {
        auto bits = reinterpret_cast<std::uintptr_t>(t);
        auto generation = static_cast<std::uint32_t>(bits >> 32);
        const tenant *record = record_of<tenant>(static_cast<std::uint32_t>(bits));
        return record->generation == generation && record->counter.parent == index_of_b &&
               record->generation == generation;
    }
    const std::uint32_t index_of_b = tenant_from(b)->index;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(who_gets_a_handle_while_its_tenant_ends_gets_no_strangers, replaced) {
    run([this] { return obj_cgroup_get(now); },
        [this](std::uint32_t got) {
            bool is_strange = names_a_stranger(got);
            obj_cgroup_put(got);
            return is_strange;
        });
}

BOOST_FIXTURE_TEST_CASE(nor_does_who_only_looks_for_it, replaced) {
    run([this] { return obj_cgroup_of(now); }, [this](std::uint32_t found) { return names_a_stranger(found); });
}

BOOST_FIXTURE_TEST_CASE(nor_does_who_looks_for_the_tenant_of_a_handle, replaced) {
    run([this] { return tenant_of(handle); }, [this](const allot_tenant *found) { return is_a_stranger(found); });
}
