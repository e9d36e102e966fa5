#define BOOST_TEST_MODULE reset
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "accounting/obj_cgroup.hpp"
#include "alloc/heap.hpp"
#include "alloc/reset.hpp"
#include "alloc/transfer.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <atomic>
#include <barrier>
#include <cerrno>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace allot;

namespace {

constexpr std::size_t kib = 1024, mib = kib * kib;

void expect_whole() {
    verify_result all = verify();
    BOOST_TEST(all.differences == 0u, all.first);
}

// Of every kind: small, in shared and in private slabs, whole units, large.
void allocate_many(allot_tenant *t, std::size_t graduate = 100 * kib) {
    allot_tenant *before = heap_set_active(t);
    for (std::size_t size : {std::size_t{16}, std::size_t{100}, 5 * kib, 60 * kib, 200 * kib, 3 * mib})
        for (int i = 0; i < 5; ++i) BOOST_TEST_REQUIRE(heap_malloc(size) != nullptr);
    for (std::size_t bytes = 0; bytes < graduate; bytes += 256) BOOST_TEST_REQUIRE(heap_malloc(256) != nullptr);
    heap_set_active(before);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_reset_frees_all_that_the_tenant_owns_and_nothing_else, allocated) {
    allot_tenant *t = make("/case/t"), *child = make("/case/t/child"), *other = make("/case/other");
    std::vector<void *> others;
    for (int round = 0; round < 3; ++round) {
        allocate_many(t);
        for (allot_tenant *keeps : {other, child}) {
            heap_set_active(keeps);
            for (int i = 0; i < 50; ++i) {
                others.push_back(heap_malloc(100)); // in the same shared slabs
                fill(others.back(), 112, 0);
            }
            others.push_back(heap_malloc(mib));
            fill(others.back(), mib, 0);
        }
        heap_set_active(top);
        std::uint64_t others_bytes = tenant_current(other), childs_bytes = tenant_current(child);
        expect_whole();
        BOOST_TEST(heap_reset(t) == 0);
        BOOST_TEST(tenant_current(t) == childs_bytes);
        BOOST_TEST(keyed(t, "memory.stat", "objects") == keyed(child, "memory.stat", "objects"));
        BOOST_TEST(tenant_current(other) == others_bytes);
        expect_whole();
        BOOST_TEST(heap_reset(t) == 0); // nothing is left to do
    }
    for (void *p : others) {
        BOOST_TEST(
            is_filled(p, heap_usable_size(p), static_cast<unsigned>((reinterpret_cast<std::uintptr_t>(p) >> 4))));
        heap_free(p);
    }
}

BOOST_FIXTURE_TEST_CASE(what_other_threads_allocated_and_left_goes_too, allocated) {
    allot_tenant *t = make("/case/t");
    std::barrier steps(2);
    std::thread stays([&] {
        allocate_many(t, 2 * mib);
        heap_free(heap_malloc(10));
        steps.arrive_and_wait();
        steps.arrive_and_wait();
        void *p = heap_malloc(256); // its home collects what came back
        heap_free(p);
        expect_whole();
    });
    steps.arrive_and_wait();
    std::thread([&] { allocate_many(t, 2 * mib); }).join();
    allocate_many(t);
    BOOST_TEST(tenant_current(t) > 13 * mib);
    BOOST_TEST(heap_reset(t) == 0);
    BOOST_TEST(tenant_current(t) == 0u);
    expect_whole();
    steps.arrive_and_wait();
    stays.join();
}

BOOST_FIXTURE_TEST_CASE(transferred_blocks_go_with_whom_they_were_given_to, allocated) {
    allot_tenant *t = make("/case/t"), *other = make("/case/other");
    heap_set_active(tenant_default());
    std::vector<void *> mine;
    for (int i = 0; i < 100; ++i) mine.push_back(heap_malloc(300)); // private slabs
    heap_set_active(t);
    std::vector<void *> given;
    for (int i = 0; i < 1000; ++i) given.push_back(heap_malloc(300));
    heap_set_active(top);
    for (std::size_t i = 0; i < 100; i += 2) BOOST_TEST_REQUIRE(heap_transfer(mine[i], t) == 0);
    for (std::size_t i = 0; i < 1000; i += 3) BOOST_TEST_REQUIRE(heap_transfer(given[i], other) == 0);
    BOOST_TEST(heap_reset(t) == 0);
    BOOST_TEST(tenant_current(t) == 0u);
    BOOST_TEST(tenant_current(other) == 334 * 320u);
    expect_whole();
    for (std::size_t i = 1; i < 100; i += 2) heap_free(mine[i]);
    for (std::size_t i = 0; i < 1000; i += 3) heap_free(given[i]);
    expect_whole();
}

BOOST_FIXTURE_TEST_CASE(what_a_destroyed_child_left_goes_and_external_bytes_stay, allocated) {
    allot_tenant *t = make("/case/t"), *child = make("/case/t/child");
    allocate_many(child);
    destroy_below("/case/t/child");
    BOOST_TEST(tenant_current(t) > 3 * mib);
    std::uint32_t owner = obj_cgroup_get(t);
    BOOST_TEST(charge_bytes(owner, 12345, charge_kind::external));
    BOOST_TEST(heap_reset(t) == 0);
    BOOST_TEST(tenant_current(t) == 12345u);
    uncharge_bytes(owner, 12345, charge_kind::external);
    obj_cgroup_put(owner);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_that_another_thread_works_for_is_busy, allocated) {
    allot_tenant *t = make("/case/t");
    std::barrier steps(2);
    void *p = nullptr;
    std::thread other([&] {
        heap_set_active(t);
        p = heap_malloc(100);
        steps.arrive_and_wait();
        steps.arrive_and_wait();
        heap_unaccounted_begin(); // it still works for it, and will go on
        steps.arrive_and_wait();
        steps.arrive_and_wait();
        heap_unaccounted_end();
        heap_set_active(nullptr);
        steps.arrive_and_wait();
        steps.arrive_and_wait();
    });
    for (int i = 0; i < 2; ++i) {
        steps.arrive_and_wait();
        BOOST_TEST(heap_reset(t) == -EBUSY);
        BOOST_TEST(tenant_current(t) == 112u);
        BOOST_TEST(heap_owner_of(p) == t);
        steps.arrive_and_wait();
    }
    steps.arrive_and_wait();
    BOOST_TEST(heap_reset(t) == 0);
    BOOST_TEST(tenant_current(t) == 0u);
    steps.arrive_and_wait();
    other.join();
}

// Its handle stands for the child's heir no more once another tenant has the record; its allocations are the heir's still.
BOOST_FIXTURE_TEST_CASE(who_works_for_a_child_that_is_gone_is_inside, allocated) {
    allot_tenant *t = make("/case/t"), *child = make("/case/t/child");
    std::barrier steps(2);
    std::thread other([&] {
        heap_set_active(child);
        heap_free(heap_malloc(100));
        steps.arrive_and_wait();
        steps.arrive_and_wait();
        void *p = heap_malloc(100);
        BOOST_TEST(heap_owner_of(p) == t);
        heap_free(p);
        heap_set_active(top);
    });
    steps.arrive_and_wait();
    destroy_below("/case/t/child");
    BOOST_TEST(heap_reset(t) == -EBUSY);
    for (int i = 0; i < 10; ++i) make(("/case/others/" + std::to_string(i)).c_str()); // one of them has its record
    BOOST_TEST(heap_reset(t) == -EBUSY);
    steps.arrive_and_wait();
    other.join();
    BOOST_TEST(heap_reset(t) == 0);
}

BOOST_FIXTURE_TEST_CASE(the_caller_may_work_for_it_and_goes_on_doing_so, allocated) {
    allot_tenant *t = make("/case/t");
    heap_set_active(t);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(heap_malloc(200) != nullptr);
        BOOST_TEST(heap_reset(t) == 0);
        BOOST_TEST(tenant_current(t) == 0u);
        expect_whole();
    }
    heap_set_active(top);
}

BOOST_FIXTURE_TEST_CASE(the_root_and_what_is_gone_are_said_so, allocated) {
    BOOST_TEST(heap_reset(nullptr) == -EINVAL);
    BOOST_TEST(heap_reset(tenant_root()) == -EINVAL);
    allot_tenant *gone = make("/case/gone");
    destroy_below("/case/gone");
    BOOST_TEST(heap_reset(gone) == -ESTALE);
}

namespace {

// Until every unit that the arena has is in use: the next slab lies behind them all.
std::vector<void *> occupy_free_units() {
    std::vector<void *> blocks;
    while (units_statistics().free != 0) blocks.push_back(heap_malloc(200 * kib));
    return blocks;
}

} // namespace

// The last block that names an owner's index goes, a tenant that is made at this moment gets the index, and the next block
// that the reset comes to is his. The other thread holds what the reset needs at two places, to be there at that moment.
BOOST_FIXTURE_TEST_CASE(an_index_that_is_used_again_meanwhile_is_somebody_elses, allocated) {
    constexpr std::size_t size = 7000; // of a class that nobody else here uses
    allot_tenant *t = make("/case/t"), *children[] = {make("/case/t/1"), make("/case/t/2")};
    // So many idle heaps, before and after the children's, that theirs are reused: no heap names a child any more.
    auto many = [](const std::string &name) {
        for (int i = 0; i < 100; ++i) heap_set_active(make(("/case/many/" + name + std::to_string(i)).c_str()));
    };
    many("a");
    std::vector<void *> in_the_way = occupy_free_units();
    std::uint32_t index = 0;
    for (allot_tenant *child : children) {
        heap_set_active(child);
        BOOST_TEST_REQUIRE(heap_malloc(size) != nullptr);
        index = obj_cgroup_of(child);
    }
    many("b");
    heap_set_active(top);
    home_here()->more_heaps =
        0; // top's came back; nevertheless each heap that is opened from here on is the last one, reused
    destroy_below("/case/t/1");
    destroy_below("/case/t/2");
    BOOST_TEST(record_at<obj_cgroup>(index).references == 1u); // the block's

    allot_tenant *fresh = nullptr;
    void *block = nullptr;
    std::barrier steps(2);
    std::thread other([&] {
        heap_set_active(make("/case/other"));
        heap_free(heap_malloc(size)); // of the slab in which the block will be, behind that of the children
        lock_word &registry = region().registry_lock.word;
        lock_take(registry, lock_rank::registry);
        std::uint32_t alone = registry;
        steps.arrive_and_wait();
        while (registry == alone) os_yield(); // until the reset wants it too: to credit what it has found in that slab
        units_held hold;                      // which it wants for the next one
        lock_give(registry, lock_rank::registry);
        while (record_at<obj_cgroup>(index).tenant != 0) os_yield();
        int error;
        fresh = tenant_create(top, "fresh", error);
        heap_set_active(fresh);
        block = heap_malloc(size);
        BOOST_TEST(obj_cgroup_of(fresh) == index);
    });
    steps.arrive_and_wait();
    BOOST_TEST(heap_reset(t) == 0);
    other.join();
    BOOST_TEST(heap_owner_of(block) == fresh);
    if (heap_owner_of(block) == fresh) heap_free(block);
    for (void *p : in_the_way) heap_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_child_resets_its_own_and_leaves_what_it_inherited, allocated) {
    allot_tenant *t = make("/case/t");
    allocate_many(t);
    std::uint64_t bytes = tenant_current(t);
    child_end end = in_child([&] {
        heap_set_active(t);
        for (int i = 0; i < 100; ++i)
            if (heap_malloc(1000) == nullptr) return 1;
        heap_set_active(nullptr);
        return heap_reset(t) == 0 && tenant_current(t) == 0 ? 0 : 2;
    });
    BOOST_TEST(end.exited_with(0));
    BOOST_TEST(tenant_current(t) == bytes);
    BOOST_TEST(heap_reset(t) == 0);
}

// Three threads work for tenants of their own in the shared slabs of all, free each other's blocks and end, while a fourth
// lets a tenant grow and resets it; contents of the others are checked.
BOOST_FIXTURE_TEST_CASE(others_come_and_go_meanwhile, allocated) {
    allot_tenant *t = make("/case/t");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> wrong{0}, lives{0};
    auto live = [&](unsigned number) {
        std::mt19937 random(number);
        allot_tenant *mine = tenant_create_path(("/case/o" + std::to_string(number % 7)).c_str());
        heap_set_active(mine);
        std::vector<void *> held;
        for (int i = 0; i < 3000; ++i) {
            if (random() % 2 == 0 || held.empty()) {
                std::size_t size = 16 << random() % 10;
                void *p = heap_malloc(size);
                std::memset(p, static_cast<int>(number), size);
                held.push_back(p);
            } else {
                std::swap(held[random() % held.size()], held.back());
                if (!is_filled(held.back(), heap_usable_size(held.back()), number)) wrong++;
                heap_free(held.back());
                held.pop_back();
            }
        }
        for (void *p : held) heap_free(p);
        lives++;
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
            for (unsigned n = i; !stop; n += 3) std::thread(live, n % 200).join();
        });
    for (int round = 0; round < 40; ++round) {
        std::thread([&] {
            heap_set_active(t);
            for (int i = 0; i < 400; ++i)
                for (std::size_t size = 16; size < 20000; size *= 3) std::memset(heap_malloc(size), 0xee, size);
        }).join();
        if (heap_reset(t) != 0) wrong++;
        if (tenant_current(t) != 0) wrong++;
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(lives > 3u);
    expect_whole();
}

// A thread that begins to work for the tenant either makes the reset say so, or waits for its end: what it allocates then
// is never taken from it.
BOOST_FIXTURE_TEST_CASE(no_block_of_a_thread_that_comes_in_is_taken, allocated) {
    allot_tenant *t = make("/case/t");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> taken{0}, entered{0};
    std::thread enters([&] {
        while (!stop) {
            heap_set_active(t);
            void *p = heap_malloc(64);
            std::memset(p, 0x5a, 64);
            for (int i = 0; i < 50; ++i)
                if (heap_owner_of(p) != t || !is_filled(p, 64, 0x5a)) taken++;
            heap_free(p);
            heap_set_active(top);
            entered++;
        }
    });
    unsigned resets = 0, busy = 0;
    while (resets < 200 || entered < 200) {
        int error = heap_reset(t);
        if (error == 0)
            resets++;
        else
            busy++;
    }
    stop = true;
    enters.join();
    BOOST_TEST(taken == 0u);
    BOOST_TEST_MESSAGE(resets << " resets, " << busy << " times busy");
}
