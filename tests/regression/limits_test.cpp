// Bugs that other trackers of memory had at their limits, each as the behaviour that would have shown it.
#define BOOST_TEST_MODULE regression_limits
#include "tests/regression/tenants.hpp"

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <fstream>
#include <malloc.h>
#include <random>

namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

// Allocates until it is refused; how much that was.
std::uint64_t fill(std::size_t size, std::vector<void *> &into) {
    std::uint64_t sum = 0;
    while (void *p = allot_malloc(size)) {
        into.push_back(p);
        sum += allot_usable_size(p);
    }
    return sum;
}

// Of this process's address space.
std::uint64_t mapped_bytes() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * 4096;
}

void free_all(std::vector<void *> &blocks) {
    for (void *p : blocks) allot_free(p);
    blocks.clear();
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_small_tenant_can_use_all_of_its_limit_though_a_hundred_threads_hold_stock, tenants) {
    allot_tenant *small = make(top, "small", "1M");
    idle_threads idle(100, [&](unsigned) {
        allot_set_active(small);
        allot_free(allot_malloc(64));
    });
    allot_set_active(small);
    std::vector<void *> blocks;
    for (std::size_t size : {16ul, 100ul, 1000ul, 4096ul, 40 * KiB, 100 * KiB}) {
        std::uint64_t used = fill(size, blocks);
        BOOST_TEST(used <= MiB);
        BOOST_TEST(used + allot_usable_size(blocks[0]) > MiB, size); // to within one object
        free_all(blocks);
    }
    BOOST_TEST(allot_try_charge(small, MiB) == 0); // and to the byte
    BOOST_TEST(allot_try_charge(small, 1) == -ENOMEM);
    allot_uncharge(small, MiB);
}

BOOST_FIXTURE_TEST_CASE(stocks_of_a_thousand_idle_threads_are_no_reason_for_a_refusal, tenants) {
    allot_tenant *a = make(top, "a", "64M");
    idle_threads idle(1000, [&](unsigned) {
        allot_set_active(a);
        allot_free(allot_malloc(100));
    });
    BOOST_TEST(allot_tenant_current(a) == 0u);
    BOOST_TEST(allot_try_charge(a, 64 * MiB) == 0);
    BOOST_TEST(key(a, "memory.stat", "stock") == 0u);
    allot_uncharge(a, 64 * MiB);
}

BOOST_FIXTURE_TEST_CASE(sixty_four_threads_with_a_hundred_bytes_each_fit_into_one_mebibyte, tenants) {
    allot_tenant *a = make(top, "a", "1M");
    std::atomic<unsigned> refused{0};
    on_threads(64, [&](unsigned) {
        allot_set_active(a);
        void *p = allot_malloc(100);
        if (p == nullptr) refused++;
        allot_free(p);
    });
    BOOST_TEST(refused == 0u);
}

// Debits on workers, credits on another thread, at a quarter of the limit: a sum of what is pending is no use.
BOOST_FIXTURE_TEST_CASE(work_handed_from_thread_to_thread_is_never_refused_below_the_limit, tenants) {
    constexpr std::size_t block = 68 * KiB, nr_workers = 8, tasks = 4000;
    allot_tenant *a = make(top, "a", std::to_string(4 * 2 * nr_workers * 72 * KiB).c_str());
    std::atomic<void *> hands[nr_workers] = {};
    std::atomic<unsigned> refused{0}, working{nr_workers};
    std::thread collector([&] {
        while (working > 0)
            for (std::atomic<void *> &hand : hands) allot_free(hand.exchange(nullptr));
    });
    on_threads(nr_workers, [&](unsigned number) {
        allot_set_active(a);
        for (unsigned i = 0; i < tasks; ++i) {
            void *p = allot_malloc(block);
            if (p == nullptr) refused++;
            while (hands[number] != nullptr) std::this_thread::yield();
            hands[number] = p;
        }
        working--;
    });
    collector.join();
    for (std::atomic<void *> &hand : hands) allot_free(hand.exchange(nullptr));
    BOOST_TEST(refused == 0u);
}

BOOST_FIXTURE_TEST_CASE(many_who_look_at_once_do_not_all_get_the_last_mebibyte, tenants) {
    constexpr unsigned nr_threads = 3, rounds = 300;
    allot_tenant *a = make(top, "a", "8M");
    BOOST_TEST(allot_try_charge(a, 7 * MiB) == 0);
    std::atomic<unsigned> got{0}, wrong{0};
    std::barrier<> together(nr_threads);
    on_threads(nr_threads, [&](unsigned thread) {
        for (unsigned round = 0; round < rounds; ++round) {
            together.arrive_and_wait();
            bool is_charged = allot_try_charge(a, MiB) == 0;
            if (is_charged) got++;
            together.arrive_and_wait();
            if (thread == 0 && (got.exchange(0) != 1 || number(a, "memory.current") != 8 * MiB)) wrong++;
            together.arrive_and_wait();
            if (is_charged) allot_uncharge(a, MiB);
        }
    });
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(number(a, "memory.peak") == 8 * MiB);
    allot_uncharge(a, 7 * MiB);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_at_an_ancestor_leaves_every_level_as_it_was, tenants) {
    allot_tenant *a = make(top, "a"), *b = make(a, "b", "1M"), *c = make(b, "c"), *d = make(c, "d");
    BOOST_TEST(allot_try_charge(d, 600 * KiB) == 0);
    const auto figures = [&] {
        std::string all;
        for (allot_tenant *t : {top, a, b, c, d})
            all += get(t, "memory.current") + get(t, "memory.peak") + get(t, "memory.stat");
        return all;
    };
    std::string before = figures();
    for (unsigned i = 0; i < 100; ++i) BOOST_TEST(allot_try_charge(d, 600 * KiB) == -ENOMEM);
    BOOST_TEST(figures() == before);
    std::atomic<bool> wrong{false};
    on_threads(8, [&](unsigned) {
        for (unsigned i = 0; i < 1000; ++i)
            if (allot_try_charge(d, 600 * KiB) != -ENOMEM) wrong = true;
    });
    BOOST_TEST(!wrong);
    BOOST_TEST(figures() == before);
    allot_uncharge(d, 600 * KiB);
}

// Whichever of three levels has no room, and whatever asks: each figure of each level stays, and nothing is mapped or
// allocated for it, neither by the library nor through malloc.
BOOST_FIXTURE_TEST_CASE(a_hundred_thousand_refusals_change_nothing_but_their_count, tenants) {
    constexpr unsigned rounds = 100000 / 3 / 5 + 1;
    allot_tenant *a = make(top, "a"), *b = make(a, "b"), *c = make(b, "c"), *levels[] = {a, b, c};
    allot_set_active(c);
    allot_kmem_cache *cache = allot_kmem_cache_create("cache", 70 * KiB, 4096, ALLOT_CACHE_DEFAULT, nullptr);
    void *block = allot_malloc(512), *last = allot_malloc(100 * KiB);
    auto refuse = [&] {
        unsigned given = 0;
        given += allot_malloc(200 * KiB) != nullptr;
        given += allot_calloc(3, MiB) != nullptr;
        given += allot_realloc(block, 70 * KiB) != nullptr;
        given += allot_kmem_cache_alloc(cache, ALLOT_NOWAIT) != nullptr;
        given += allot_try_charge(c, 100 * KiB) == 0;
        return given;
    };
    auto figures = [&] {
        std::string all = get(allot_root(), "memory.stat");
        for (allot_tenant *t : {top, a, b, c})
            all += get(t, "memory.current") + get(t, "memory.peak") + get(t, "memory.stat");
        return all;
    };
    for (allot_tenant *full : levels) {
        BOOST_TEST(allot_tenant_set(full, "memory.max", "128K") == 0);
        BOOST_TEST(refuse() == 0u); // what is made at the first one is there
        std::uint64_t refused = key(full, "memory.events.local", "oom");
        std::string before = figures();
        unsigned given = 0;
        std::uint64_t mapped = mapped_bytes(), allocated = mallinfo2().uordblks;
        for (unsigned i = 0; i < rounds; ++i) given += refuse();
        allocated -= mallinfo2().uordblks;
        mapped -= mapped_bytes();
        BOOST_TEST(allocated == 0u);
        BOOST_TEST(mapped == 0u);
        BOOST_TEST(figures() == before);
        BOOST_TEST(given == 0u);
        BOOST_TEST(key(full, "memory.events.local", "oom") == refused + 5 * rounds);
        BOOST_TEST(allot_tenant_set(full, "memory.max", "max") == 0);
    }
    allot_free(block);
    allot_free(last);
    allot_kmem_cache_destroy(cache);
}

BOOST_FIXTURE_TEST_CASE(one_size_is_checked_charged_and_uncharged, tenants) {
    allot_tenant *a = make(top, "a", "8M");
    allot_set_active(a);
    std::vector<void *> blocks;
    fill(512 * KiB, blocks);
    BOOST_TEST(blocks.size() == 16u);
    free_all(blocks);
    fill(300 * KiB + 1, blocks);
    BOOST_TEST(blocks.size() == 8 * MiB / (304 * KiB));
    free_all(blocks);
}

BOOST_FIXTURE_TEST_CASE(the_same_work_is_refused_at_the_same_byte_each_time, tenants) {
    std::uint64_t first = 0;
    for (unsigned round = 0; round < 5; ++round) {
        allot_tenant *a = make(top, ("round" + std::to_string(round)).c_str(), "3M");
        allot_set_active(a);
        std::mt19937 random(11);
        std::vector<void *> blocks;
        std::uint64_t sum = 0;
        while (void *p = allot_malloc(1 + random() % 20000)) {
            blocks.push_back(p);
            sum += allot_usable_size(p);
            if (random() % 3 == 0) {
                std::swap(blocks[random() % blocks.size()], blocks.back());
                sum -= allot_usable_size(blocks.back());
                allot_free(blocks.back());
                blocks.pop_back();
            }
        }
        if (round == 0) first = sum;
        BOOST_TEST(sum == first);
        free_all(blocks);
    }
}

BOOST_FIXTURE_TEST_CASE(bytes_from_elsewhere_count_towards_the_limit, tenants) {
    allot_tenant *a = make(top, "a", "1G");
    BOOST_TEST(allot_try_charge(a, 1024 * MiB - 100) == 0);
    allot_set_active(a);
    errno = 0;
    BOOST_TEST(allot_malloc(100) == nullptr); // a slot of 112
    BOOST_TEST(errno == ENOMEM);
    allot_uncharge(a, 1024 * MiB - 100);
    void *p = allot_malloc(100);
    BOOST_TEST(p != nullptr);
    allot_free(p);
}

BOOST_FIXTURE_TEST_CASE(a_limit_below_the_usage_is_accepted_and_holds_from_then_on, tenants) {
    allot_tenant *a = make(top, "a");
    allot_set_active(a);
    std::vector<void *> blocks;
    for (unsigned i = 0; i < 1000; ++i) blocks.push_back(allot_malloc(10240));
    BOOST_TEST(allot_tenant_set(a, "memory.max", "5M") == 0);
    BOOST_TEST(allot_malloc(16) == nullptr);
    while (allot_tenant_current(a) > 5 * MiB - 20480) {
        allot_free(blocks.back());
        blocks.pop_back();
    }
    blocks.push_back(allot_malloc(10240));
    BOOST_TEST(blocks.back() != nullptr);
    free_all(blocks);
}

BOOST_FIXTURE_TEST_CASE(an_ancestors_limit_is_noticed_though_the_tenant_has_room, tenants) {
    allot_tenant *parent = make(top, "parent", "1M");
    allot_tenant *a = make(parent, "a", "1G"), *b = make(parent, "b", "1G");
    allot_set_active(a);
    std::vector<void *> blocks;
    fill(4096, blocks);
    BOOST_TEST(allot_tenant_current(parent) <= MiB);
    allot_set_active(b);
    BOOST_TEST(allot_malloc(4096) == nullptr);
    BOOST_TEST(key(parent, "memory.events.local", "oom") == 2u);
    BOOST_TEST(key(a, "memory.events.local", "oom") == 0u);
    free_all(blocks);
}

BOOST_FIXTURE_TEST_CASE(stock_of_a_tenant_that_got_children_can_be_taken, tenants) {
    allot_tenant *parent = make(top, "parent", "4M");
    idle_threads idle(8, [&](unsigned) {
        allot_set_active(parent);
        allot_free(allot_malloc(64));
    });
    allot_tenant *leaf = make(parent, "leaf");
    BOOST_TEST(allot_try_charge(leaf, 4 * MiB) == 0);
    allot_uncharge(leaf, 4 * MiB);
}

// All hold what they have charged until everyone has, so that the last one has reached all of it.
BOOST_FIXTURE_TEST_CASE(a_peak_is_never_lost_however_many_reach_it, tenants) {
    constexpr unsigned nr_threads = 3, rounds = 500;
    allot_tenant *a = make(top, "a");
    std::atomic<unsigned> refused{0};
    unsigned lost = 0;
    std::barrier<> together(nr_threads);
    on_threads(nr_threads, [&](unsigned thread) {
        for (unsigned round = 0; round < rounds; ++round) {
            together.arrive_and_wait();
            if (allot_try_charge(a, MiB) != 0) refused++;
            together.arrive_and_wait();
            if (thread == 0) lost += number(a, "memory.peak") != nr_threads * MiB;
            together.arrive_and_wait();
            allot_uncharge(a, MiB);
            together.arrive_and_wait();
            if (thread == 0) allot_tenant_set(a, "memory.peak", "anew");
        }
    });
    BOOST_TEST(refused == 0u);
    BOOST_TEST(lost == 0u);
}

// What is charged always fits, but only once what the thread has taken ahead for its small block is drained; and drains go on
// elsewhere all the time, for what never fits there.
BOOST_FIXTURE_TEST_CASE(refusals_at_the_same_moment_do_not_make_each_other_false, tenants) {
    constexpr unsigned charges = 2000;
    allot_tenant *both[] = {make(top, "a", "1M"), make(top, "b", "1M")}, *elsewhere = make(top, "elsewhere", "1M");
    std::atomic<unsigned> wrong{0}, working{2};
    on_threads(4, [&](unsigned number) {
        if (number >= 2) {
            while (working > 0)
                if (allot_try_charge(elsewhere, 2 * MiB) != -ENOMEM) wrong++;
            return;
        }
        allot_set_active(both[number]);
        for (unsigned i = 0; i < charges; ++i) {
            allot_free(allot_malloc(64));
            if (allot_try_charge(both[number], MiB) == 0)
                allot_uncharge(both[number], MiB);
            else
                wrong++;
        }
        working--;
    });
    BOOST_TEST(wrong == 0u);
    for (allot_tenant *t : both) BOOST_TEST(key(t, "memory.events.local", "max") == charges); // each needed a drain
}
