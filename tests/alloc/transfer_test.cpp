#define BOOST_TEST_MODULE transfer
#include <boost/test/unit_test.hpp>

#include "alloc/heap.hpp"
#include "alloc/transfer.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;
constexpr std::size_t sizes[] = {16, 100, 1000, 5000, 60000, 200 * kib, 3 * mib};

struct two_tenants : allocated {
    allot_tenant *from = make("/case/from"), *to = make("/case/to");

    // A block of the kind of slab that is asked for.
    void *shared(std::size_t size) {
        heap_set_active(from);
        void *p = heap_malloc(size);
        BOOST_TEST_REQUIRE((slab_of(p)->kind == unit_kind::shared_slab));
        heap_set_active(top);
        return p;
    }
    void *private_block(std::size_t size) {
        heap_set_active(tenant_default());
        void *p = heap_malloc(size);
        BOOST_TEST_REQUIRE((slab_of(p)->kind == unit_kind::private_slab));
        heap_set_active(top);
        return p;
    }
    static void expect_whole() {
        verify_result all = verify();
        BOOST_TEST(all.differences == 0u, all.first);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_block_of_any_size_moves_with_its_whole_charge, two_tenants) {
    for (std::size_t size : sizes) {
        heap_set_active(from);
        void *p = heap_malloc(size);
        std::size_t usable = heap_usable_size(p);
        fill(p, usable, 1);
        unsigned pattern = *static_cast<unsigned char *>(p);
        BOOST_TEST(tenant_current(from) == usable);
        BOOST_TEST(heap_transfer(p, to) == 0);
        BOOST_TEST(tenant_current(from) == 0u);
        BOOST_TEST(tenant_current(to) == usable);
        BOOST_TEST(heap_owner_of(p) == to);
        BOOST_TEST(is_filled(p, usable, pattern));
        expect_whole();
        heap_free(p);
        BOOST_TEST(tenant_current(to) == 0u);
        expect_whole();
    }
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(a_block_leaves_a_private_slab_and_its_neighbours_stay, two_tenants) {
    allot_tenant *own = tenant_default();
    std::uint64_t before = keyed(own, "memory.stat", "slab");
    void *stays = private_block(200), *goes = private_block(200);
    BOOST_TEST_REQUIRE(slab_of(stays) == slab_of(goes));
    BOOST_TEST(heap_transfer(goes, to) == 0);
    BOOST_TEST(heap_owner_of(goes) == to);
    BOOST_TEST(heap_owner_of(stays) == own);
    BOOST_TEST(tenant_current(to) == 224u);
    expect_whole();
    heap_free(goes);
    BOOST_TEST(tenant_current(to) == 0u);
    void *again = private_block(200); // the same slot, by the fast path
    BOOST_TEST(again == goes);
    BOOST_TEST(heap_owner_of(again) == own);
    BOOST_TEST(keyed(own, "memory.stat", "slab") == before + 448);
    heap_free(again);
    heap_free(stays);
    expect_whole();
}

BOOST_FIXTURE_TEST_CASE(a_block_may_move_on_and_come_back, two_tenants) {
    void *p = private_block(500);
    for (allot_tenant *next : {to, from, tenant_default(), to, to, static_cast<allot_tenant *>(nullptr), from}) {
        BOOST_TEST(heap_transfer(p, next) == 0);
        BOOST_TEST(heap_owner_of(p) == (next != nullptr ? next : tenant_root()));
        expect_whole();
    }
    BOOST_TEST(tenant_current(from) == 512u);
    BOOST_TEST(tenant_current(to) == 0u);
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_refused_transfer_changes_nothing, two_tenants) {
    BOOST_TEST(tenant_set(to, "memory.max", "100") == 0);
    for (std::size_t size : sizes) {
        if (size < 100) continue;
        heap_set_active(from);
        void *p = heap_malloc(size);
        heap_set_active(top);
        BOOST_TEST(heap_transfer(p, to) == -ENOMEM);
        BOOST_TEST(heap_owner_of(p) == from);
        BOOST_TEST(tenant_current(from) == heap_usable_size(p));
        BOOST_TEST(usage_of("/case/to") == 0u);
        BOOST_TEST(number(to, "memory.peak") == 0u);
        expect_whole();
        heap_free(p);
    }
    void *p = private_block(200);
    BOOST_TEST(heap_transfer(p, to) == -ENOMEM);
    BOOST_TEST(heap_owner_of(p) == tenant_default());
    heap_free(p);
    BOOST_TEST(keyed(to, "memory.events", "oom") == std::size(sizes)); // once each: all but the smallest, and this one
}

// Whatever is below a limit already stays below it: it is charged there once.
BOOST_FIXTURE_TEST_CASE(a_limit_of_a_common_ancestor_does_not_count_a_block_twice, two_tenants) {
    BOOST_TEST(tenant_set(top, "memory.max", "4M") == 0);
    heap_set_active(from);
    void *p = heap_malloc(3 * mib);
    BOOST_TEST_REQUIRE(p != nullptr);
    BOOST_TEST(heap_transfer(p, to) == 0);
    BOOST_TEST(number(top, "memory.peak") <= 4 * mib);
    heap_free(p);
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_block_or_no_tenant_is_said_so, two_tenants) {
    char *p = static_cast<char *>(shared(500));
    char *large = static_cast<char *>(heap_malloc(mib));
    int local = 0;
    for (void *bad : {static_cast<void *>(nullptr), static_cast<void *>(&local), static_cast<void *>(p + 16),
                      static_cast<void *>(p + 1), static_cast<void *>(large + 4096)})
        BOOST_TEST(heap_transfer(bad, to) == -EINVAL);
    allot_tenant *gone = make("/case/gone");
    destroy_below("/case/gone");
    BOOST_TEST(heap_transfer(p, gone) == -ESTALE);
    BOOST_TEST(heap_owner_of(p) == from);
    heap_free(p);
    BOOST_TEST(heap_transfer(p, to) == -EINVAL); // freed
    heap_free(large);
}

BOOST_FIXTURE_TEST_CASE(what_a_destroyed_tenant_left_moves_too, two_tenants) {
    allot_tenant *child = make("/case/from/child");
    heap_set_active(child);
    void *p = heap_malloc(300);
    heap_set_active(top);
    destroy_below("/case/from/child");
    BOOST_TEST(heap_owner_of(p) == from);
    BOOST_TEST(heap_transfer(p, from) == 0); // whose it is
    BOOST_TEST(tenant_current(from) == 320u);
    BOOST_TEST(heap_transfer(p, to) == 0);
    BOOST_TEST(tenant_current(from) == 0u);
    destroy_below("/case/to"); // what was given to it goes to its parent
    BOOST_TEST(heap_owner_of(p) == top);
    BOOST_TEST(tenant_current(top) == 320u);
    expect_whole();
    heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_transferred_block_is_freed_from_afar_and_after_its_thread_has_ended, two_tenants) {
    std::vector<void *> held;
    std::thread([&] {
        for (int i = 0; i < 100; ++i) held.push_back(private_block(200));
        for (int i = 0; i < 100; i += 3) BOOST_TEST(heap_transfer(held[i], to) == 0);
        std::thread([&] {
            for (int i = 0; i < 50; ++i) heap_free(held[i]);
            BOOST_TEST(tenant_current(to) == 17 * 224u);
            expect_whole();
        }).join();
    }).join();
    expect_whole();
    for (int i = 50; i < 100; ++i) heap_free(held[i]);
    BOOST_TEST(tenant_current(to) == 0u);
    expect_whole();
}

BOOST_FIXTURE_TEST_CASE(realloc_of_a_transferred_block_keeps_its_owner_while_it_stays, two_tenants) {
    void *p = private_block(900);
    BOOST_TEST(heap_transfer(p, to) == 0);
    BOOST_TEST(heap_realloc(p, 1000) == p);
    BOOST_TEST(heap_owner_of(p) == to);
    p = heap_realloc(p, 5000); // moves: the active tenant pays
    BOOST_TEST(heap_owner_of(p) == top);
    BOOST_TEST(tenant_current(to) == 0u);
    BOOST_TEST(heap_transfer(p, to) == 0);
    heap_free(p);
    p = heap_malloc(3 * mib);
    BOOST_TEST(heap_transfer(p, to) == 0);
    p = heap_realloc(p, 2 * mib);
    BOOST_TEST(heap_owner_of(p) == to);
    BOOST_TEST(tenant_current(to) == heap_usable_size(p));
    heap_free(p);
}

// Memory is short: a living thread takes over the slabs of one that has ended, those with exceptions too.
BOOST_FIXTURE_TEST_CASE(a_slab_with_exceptions_can_be_absorbed, two_tenants) {
    std::vector<void *> held;
    std::thread([&] {
        for (int i = 0; i < 40; ++i) held.push_back(private_block(1000));
        BOOST_TEST(heap_transfer(held[7], to) == 0);
    }).join();
    home *mine = home_here();
    BOOST_TEST_REQUIRE(adopt_absorb(mine));
    BOOST_TEST((slab_of(held[7])->at_home == mine));
    BOOST_TEST(slab_of(held[7])->owner == nobody);
    expect_whole();
    for (void *p : held) heap_free(p);
    BOOST_TEST(tenant_current(to) == 0u);
    expect_whole();
}

BOOST_FIXTURE_TEST_CASE(a_child_of_a_fork_transfers_what_it_pays_for_and_nothing_else, two_tenants) {
    void *inherited = private_block(100);
    BOOST_TEST(heap_transfer(inherited, to) == 0);
    child_end end = in_child([&] {
        if (heap_transfer(inherited, from) != -EINVAL) return 1;
        heap_free(inherited);
        void *own = heap_malloc(100);
        if (heap_transfer(own, to) != 0 || tenant_current(to) != 112) return 2;
        heap_free(own);
        return tenant_current(to) == 0 ? 0 : 3;
    });
    BOOST_TEST(end.exited_with(0));
    BOOST_TEST(tenant_current(to) == 112u);
    heap_free(inherited);
}

BOOST_FIXTURE_TEST_CASE(two_who_transfer_one_block_at_once_leave_it_with_one_of_them, two_tenants) {
    for (bool is_shared : {true, false}) {
        void *p = is_shared ? shared(64) : private_block(64);
        std::atomic<int> failures{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 500; ++i)
                    if (heap_transfer(p, t % 2 == 0 ? from : to) != 0) failures++;
            });
        for (std::thread &t : threads) t.join();
        BOOST_TEST(failures == 0);
        BOOST_TEST(tenant_current(from) + tenant_current(to) == 64u);
        expect_whole();
        heap_free(p);
        BOOST_TEST(tenant_current(from) + tenant_current(to) == 0u);
    }
}

// Threads allocate for four tenants, free, hand to others, and transfer at random; what each tenant pays for is summed up
// beside it and compared whenever all have ended.
BOOST_FIXTURE_TEST_CASE(random_transfers_agree_with_the_model, allocated) {
    struct block {
        void *at;
        unsigned owner;
    };
    constexpr unsigned nr_tenants = 5;
    allot_tenant *tenants[nr_tenants] = {tenant_default()};
    std::atomic<std::int64_t> live[nr_tenants] = {};
    for (unsigned i = 1; i < nr_tenants; ++i)
        tenants[i] = make(("/case/t" + std::to_string(i)).c_str(), i == 1 ? "300K" : nullptr);
    std::mutex mutex;
    std::vector<block> market;
    std::atomic<std::uint64_t> transfers{0}, refusals{0}, wrong{0};

    auto run = [&](unsigned seed) {
        std::mt19937 random(seed);
        std::vector<block> mine;
        unsigned active = 0;
        for (int step = 0; step < 20000; ++step) {
            unsigned what = random() % 100;
            if (what < 2) {
                active = random() % nr_tenants;
                heap_set_active(tenants[active]);
            } else if (what < 45) {
                std::size_t size = random() % 20 != 0 ? 1 + random() % 600 : 1 + random() % (200 * kib);
                void *p = heap_malloc(size);
                if (p == nullptr) continue;
                live[active] += static_cast<std::int64_t>(heap_usable_size(p));
                mine.push_back({p, active});
            } else if (what < 50) {
                std::lock_guard<std::mutex> guard(mutex);
                if (!mine.empty()) {
                    market.push_back(mine.back());
                    mine.pop_back();
                }
                if (market.size() > 30) {
                    std::swap(market[random() % market.size()], market.back());
                    mine.push_back(market.back());
                    market.pop_back();
                }
            } else if (!mine.empty()) {
                std::swap(mine[random() % mine.size()], mine.back());
                block &b = mine.back();
                auto bytes = static_cast<std::int64_t>(heap_usable_size(b.at));
                if (heap_owner_of(b.at) != tenants[b.owner]) wrong++;
                if (what < 70) {
                    unsigned next = random() % nr_tenants;
                    int error = heap_transfer(b.at, tenants[next]);
                    if (error != 0) {
                        refusals++;
                        if (error != -ENOMEM || next != 1) wrong++;
                        continue;
                    }
                    transfers++;
                    live[b.owner] -= bytes;
                    live[next] += bytes;
                    b.owner = next;
                } else {
                    live[b.owner] -= bytes;
                    heap_free(b.at);
                    mine.pop_back();
                }
            }
        }
        std::lock_guard<std::mutex> guard(mutex);
        market.insert(market.end(), mine.begin(), mine.end());
    };
    std::int64_t at_root = static_cast<std::int64_t>(keyed(tenants[0], "memory.stat", "slab"));
    for (unsigned round = 0; round < 3; ++round) {
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 3; ++t) threads.emplace_back(run, 10 * round + t);
        for (std::thread &t : threads) t.join();
        for (unsigned i = 1; i < nr_tenants; ++i)
            BOOST_TEST(static_cast<std::int64_t>(tenant_current(tenants[i])) == live[i]);
        verify_result quiet = verify();
        BOOST_TEST(quiet.differences == 0u, quiet.first);
    }
    for (block &b : market) heap_free(b.at);
    BOOST_TEST(static_cast<std::int64_t>(keyed(tenants[0], "memory.stat", "slab")) == at_root);
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(transfers > 1000u);
    BOOST_TEST(refusals > 10u);
}
