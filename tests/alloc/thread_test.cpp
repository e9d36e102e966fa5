#define BOOST_TEST_MODULE thread
#include <boost/test/unit_test.hpp>

#include "alloc/heap.hpp"
#include "alloc/remote_free.hpp"
#include "tests/support/allocated.hpp"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

std::size_t heaps_of(home *h) {
    std::size_t count = 0;
    for (heap *a = h->heaps; a != nullptr; a = a->next) ++count;
    return count;
}

// A key whose destructor comes in every round, allocates, and frees what the round before and another thread allocated.
// Keys are served in the order of their creation, so this one comes after the allocator's own in each round: what it does
// in the last is done after the allocator's last farewell.
//
// The thread sanitizer's own end of a thread is in the last round: what is done after it has no order for it.
#if defined(__SANITIZE_THREAD__)
constexpr int nr_rounds = 3;
#else
constexpr int nr_rounds = 4;
#endif

struct lasting_key {
    pthread_key_t key{};
    std::vector<void *> of_another_thread;
    std::atomic<int> rounds{0};

    static thread_local void *before;
    static lasting_key *instance;

    lasting_key() {
        instance = this;
        BOOST_TEST_REQUIRE(pthread_key_create(&key, [](void *) { instance->round(); }) == 0);
    }
    ~lasting_key() { pthread_key_delete(key); }

    void arm() { pthread_setspecific(key, this); }
    void round() {
        heap_free(before);
        before = heap_malloc(300);
        if (!of_another_thread.empty()) {
            heap_free(of_another_thread.back());
            of_another_thread.pop_back();
        }
        if (++rounds % nr_rounds == 0)
            heap_free(before);
        else
            arm();
    }
};
thread_local void *lasting_key::before = nullptr;
lasting_key *lasting_key::instance = nullptr;

} // namespace

BOOST_FIXTURE_TEST_CASE(active_tenants_nest_and_the_one_before_is_returned, allocated) {
    allot_tenant *a = make("/case/a"), *b = make("/case/b");
    BOOST_TEST(heap_active() == top);
    BOOST_TEST(heap_set_active(a) == top);
    void *of_a = heap_malloc(100);
    BOOST_TEST(heap_set_active(b) == a);
    void *of_b = heap_malloc(100);
    BOOST_TEST(heap_set_active(a) == b);
    BOOST_TEST(heap_owner_of(of_a) == a);
    BOOST_TEST(heap_owner_of(of_b) == b);
    BOOST_TEST(heap_set_active(nullptr) == a);
    BOOST_TEST(heap_active() == tenant_root());
    BOOST_TEST(heap_set_active(top) == tenant_root());
    heap_free(of_a);
    heap_free(of_b);
}

BOOST_FIXTURE_TEST_CASE(a_thread_begins_with_the_processs_tenant_whatever_its_maker_has_active, allocated) {
    std::thread([] { BOOST_TEST(heap_active() == tenant_default()); }).join();
    BOOST_TEST(heap_active() == top);
}

BOOST_FIXTURE_TEST_CASE(unaccounted_scopes_nest_and_charge_the_root, allocated) {
    allot_tenant *a = make("/case/a");
    heap_unaccounted_begin();
    heap_unaccounted_begin();
    BOOST_TEST(heap_set_active(a) == top); // takes effect at the end
    heap_unaccounted_end();
    void *p = heap_malloc(100);
    BOOST_TEST(heap_owner_of(p) == tenant_root());
    heap_unaccounted_end();
    BOOST_TEST(heap_active() == a);
    BOOST_TEST(tenant_current(a) == 0u);
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_destroyed_active_tenant_stands_for_its_parent, allocated) {
    allot_tenant *parent = make("/case/p"), *child = make("/case/p/c");
    heap_set_active(child);
    void *p = heap_malloc(100);
    BOOST_TEST(tenant_destroy(child) == 0);
    BOOST_TEST(heap_active() == parent);
    void *q = heap_malloc(100);
    BOOST_TEST(heap_owner_of(q) == parent);
    BOOST_TEST(tenant_current(parent) == 224u);
    heap_set_active(child); // stale by now
    BOOST_TEST(heap_active() == parent);
    heap_free(p);
    heap_free(q);
    BOOST_TEST(tenant_current(parent) == 0u);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_thread_of_very_many_tenants_keeps_few_heaps, allocated) {
    std::vector<allot_tenant *> tenants;
    for (int i = 0; i < 2000; ++i) tenants.push_back(make(("/case/t" + std::to_string(i)).c_str()));
    std::vector<void *> held;
    for (allot_tenant *t : tenants) {
        heap_set_active(t);
        held.push_back(heap_malloc(48));
    }
    heap_set_active(top);
    BOOST_TEST(heaps_of(home_here()) <= 70u);
    for (std::size_t i = 0; i < held.size(); ++i) {
        BOOST_TEST_REQUIRE(heap_owner_of(held[i]) == tenants[i]);
        heap_free(held[i]);
        BOOST_TEST_REQUIRE(tenant_current(tenants[i]) == 0u);
    }
    BOOST_TEST(heaps_of(home_here()) <= 70u);
}

namespace {

// In a thread of its own, whose home has no other tenants' heaps beyond those that an orphan left.
template<class Body>
void alone(Body body) {
    std::thread(body).join();
}

heap *heap_of(allot_tenant *t) { return heap_known(home_here(), obj_cgroup_of(t)); }

std::vector<allot_tenant *> make_many(const std::string &name, int count) {
    std::vector<allot_tenant *> tenants;
    for (int i = 0; i < count; ++i) tenants.push_back(allocated::make(("/case/" + name + std::to_string(i)).c_str()));
    return tenants;
}

void come_and_go(allot_tenant *t, int objects) {
    heap_set_active(t);
    for (int i = 0; i < objects; ++i) heap_free(heap_malloc(48));
}

} // namespace

BOOST_FIXTURE_TEST_CASE(tenants_that_take_turns_keep_their_heaps_after_some_rounds, allocated) {
    std::vector<allot_tenant *> tenants = make_many("turn", 300);
    alone([&] {
        for (int round = 0; round < 40; ++round)
            for (allot_tenant *t : tenants) come_and_go(t, 1);
        for (allot_tenant *t : tenants) {
            BOOST_TEST_REQUIRE(heap_of(t) != nullptr);
            BOOST_TEST_REQUIRE(heap_of(t)->owner == obj_cgroup_of(t));
        }
        BOOST_TEST(home_here()->nr_heaps == heaps_of(home_here()));
        heap_set_active(top);
    });
}

BOOST_FIXTURE_TEST_CASE(a_tenant_whose_objects_come_and_go_gets_slabs_of_its_own, allocated) {
    allot_tenant *quiet = make("/case/quiet"), *busy = make("/case/busy");
    alone([&] {
        come_and_go(quiet, static_cast<int>(graduation_frees) - 1);
        BOOST_TEST(heap_of(quiet)->graduated == 0u);
        std::vector<void *> growing;
        for (int i = 0; i < 400; ++i) growing.push_back(heap_malloc(48)); // growth alone is no traffic
        BOOST_TEST(heap_of(quiet)->graduated == 0u);
        for (void *p : growing) heap_free(p);
        come_and_go(busy, static_cast<int>(graduation_frees) + 2);
        BOOST_TEST(heap_of(busy)->nr_slabs == 1u);
        BOOST_TEST(tenant_current(busy) == 0u);
        heap_set_active(top);
    });
}

BOOST_FIXTURE_TEST_CASE(slabs_of_tenants_that_are_gone_keep_no_heaps, allocated) {
    alone([&] {
        heap_set_active(top);
        std::size_t usual = std::max<std::size_t>(heaps_of(home_here()), 90); // an orphan's heaps stay
        for (int i = 0; i < 500; ++i) {
            allot_tenant *t = make("/case/brief");
            come_and_go(t, 300);
            heap_set_active(top);
            BOOST_TEST_REQUIRE(tenant_destroy(t) == 0);
        }
        BOOST_TEST(heaps_of(home_here()) <= usual);
        BOOST_TEST(home_here()->graduated_by_traffic <= usual);
    });
}

BOOST_FIXTURE_TEST_CASE(traffic_of_very_many_classes_graduates_a_bounded_number, allocated) {
    std::vector<allot_tenant *> tenants = make_many("class", 100);
    alone([&] {
        for (allot_tenant *t : tenants) {
            heap_set_active(t);
            for (std::size_t size = 16; size <= 1024; size += 32)
                for (std::uint32_t i = 0; i < graduation_frees + 1; ++i) heap_free(heap_malloc(size));
        }
        BOOST_TEST(home_here()->graduated_by_traffic <= max_graduated_by_traffic);
        heap_set_active(top);
    });
}

BOOST_FIXTURE_TEST_CASE(a_storm_of_threads_that_end_does_not_grow_homes, allocated) {
    auto crew = [](int nr_threads) {
        std::vector<std::thread> threads;
        for (int t = 0; t < nr_threads; ++t)
            threads.emplace_back([] {
                std::vector<void *> held;
                for (std::size_t i = 0; i < 200; ++i) held.push_back(heap_malloc(16 + 37 * i));
                for (void *p : held) heap_free(p);
            });
        for (std::thread &t : threads) t.join();
    };
    crew(8);
    std::uint64_t homes = heap_statistics_get().homes;
    BOOST_TEST(homes <= 10u);
    for (int storm = 0; storm < 40; ++storm) crew(8);
    BOOST_TEST(heap_statistics_get().homes <= 10u);
    BOOST_TEST(heap_statistics_get().live_objects == 0u);
}

BOOST_FIXTURE_TEST_CASE(destructors_of_every_round_allocate_and_free_and_leave_no_home_behind, allocated) {
    lasting_key key;
    std::uint64_t homes = 0;
    for (int t = 0; t < 30; ++t) {
        for (int i = 0; i < nr_rounds; ++i) key.of_another_thread.push_back(heap_malloc(64));
        std::thread([&] {
            key.arm();
            if (t % 2 == 0)
                heap_free(heap_malloc(5)); // the others use the allocator for the first time in a destructor
        }).join();
        if (t == 1) homes = heap_statistics_get().homes;
    }
    BOOST_TEST(key.rounds == 30 * nr_rounds);
    BOOST_TEST(key.of_another_thread.empty());
    BOOST_TEST(heap_statistics_get().homes == homes);
    (void)remote_collect(home_here()); // slots on their way home count as live
    BOOST_TEST(heap_statistics_get().live_objects == 0u);
    BOOST_TEST(usage_of("/case") <= 3 * charge_batch_bytes); // this thread's stock alone
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_ends_gives_its_stock_back, allocated) {
    allot_tenant *t = make("/case/t");
    void *kept = nullptr;
    std::thread([&] {
        heap_set_active(t);
        kept = heap_malloc(100);
        BOOST_TEST(usage_of("/case/t") > 112u);
    }).join();
    BOOST_TEST(usage_of("/case/t") == 112u);
    heap_free(kept);
    BOOST_TEST(tenant_current(t) == 0u);
}
