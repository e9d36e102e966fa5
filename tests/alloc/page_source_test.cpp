#define BOOST_TEST_MODULE page_source
#include <boost/test/unit_test.hpp>

#include "alloc/page_source.hpp"
#include "tests/support/allocated.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {

char *bytes_of(std::uint32_t unit) { return reinterpret_cast<char *>(address_of(slab_at(unit))); }

// All of it may have been written to.
void free_used(std::uint32_t first, std::uint32_t count) { units_free(first, count, std::size_t{count} << unit_shift); }

bool is_zero(std::uint32_t first, std::uint32_t count) {
    for (std::size_t i = 0; i < std::size_t{count} << unit_shift; i += 64)
        if (bytes_of(first)[i] != 0) return false;
    return true;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_run_is_contiguous_below_the_frontier_and_belongs_to_one, allocated) {
    unit_run a = units_alloc(3), b = units_alloc(5);
    BOOST_TEST(a.first != 0u);
    BOOST_TEST(b.first != 0u);
    BOOST_TEST((a.first + 3 <= b.first || b.first + 5 <= a.first));
    BOOST_TEST(std::max(a.first + 3, b.first + 5) <= arena_frontier());
    free_used(a.first, 3);
    free_used(b.first, 5);
}

BOOST_FIXTURE_TEST_CASE(what_is_called_clean_is_zero_also_after_dirty_reuse_and_purge, allocated) {
    unit_run fresh = units_alloc(2);
    BOOST_TEST((!fresh.clean || is_zero(fresh.first, 2)));
    std::memset(bytes_of(fresh.first), 0xa5, 2 * unit_bytes);
    free_used(fresh.first, 2);
    unit_run again = units_alloc(2); // the lowest dirty one comes first
    BOOST_TEST(again.first == fresh.first);
    BOOST_TEST(!again.clean);
    free_used(again.first, 2);
    BOOST_TEST(units_purge(0) >= 2u);
    BOOST_TEST(units_statistics().dirty_free == 0u);
    unit_run purged = units_alloc(2);
    BOOST_TEST(purged.clean);
    BOOST_TEST(is_zero(purged.first, 2));
    free_used(purged.first, 2);
}

BOOST_FIXTURE_TEST_CASE(a_purge_keeps_as_many_as_it_is_told_and_no_more, allocated) {
    units_purge(0);
    unit_run run = units_alloc(10);
    free_used(run.first, 10);
    std::uint32_t dirty = units_statistics().dirty_free;
    BOOST_TEST(dirty == 10u);
    BOOST_TEST(units_purge(4) == 6u);
    BOOST_TEST(units_statistics().dirty_free == 4u);
    BOOST_TEST(units_purge(4) == 0u);
}

BOOST_FIXTURE_TEST_CASE(free_dirty_units_are_bounded_without_being_asked, allocated) {
    unit_run run = units_alloc(400);
    BOOST_TEST_REQUIRE(run.first != 0u);
    free_used(run.first, 400);
    BOOST_TEST(units_statistics().dirty_free <= 64u);
}

BOOST_FIXTURE_TEST_CASE(alignments_hold_from_two_units_to_a_gibibyte, allocated) {
    for (std::size_t alignment = 2 * unit_bytes; alignment <= std::size_t{1} << 30; alignment *= 2) {
        unit_run run = units_alloc_aligned(2, alignment);
        BOOST_TEST_REQUIRE(run.first != 0u);
        BOOST_TEST(address_of(slab_at(run.first)) % alignment == 0u);
        free_used(run.first, 2);
    }
    BOOST_TEST(units_alloc_aligned(1, arena_max_bytes * 4).first == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_run_grows_into_free_units_and_not_into_those_of_others, allocated) {
    unit_run run = units_alloc(4);
    free_used(run.first + 2, 2); // now its two successors are free
    BOOST_TEST(units_extend(run.first, 2, 2));
    free_used(run.first + 3, 1);
    std::uint32_t free = units_statistics().free;
    BOOST_TEST(!units_extend(run.first, 2, 2)); // the first of them is taken
    BOOST_TEST(units_statistics().free == free);
    BOOST_TEST(!units_extend(run.first, 3, static_cast<std::uint32_t>(arena.max_units)));
    free_used(run.first, 3);
}

BOOST_FIXTURE_TEST_CASE(a_run_grows_beyond_the_frontier_with_the_arena, allocated) {
    unit_run run = units_alloc_with_room(1);
    std::uint32_t more = arena_frontier() + 40 - run.first;
    BOOST_TEST(units_extend(run.first, 1, more));
    BOOST_TEST(arena_frontier() >= run.first + 1 + more);
    bytes_of(run.first + more)[7] = 1;
    free_used(run.first, 1 + more);
}

BOOST_FIXTURE_TEST_CASE(what_may_grow_has_room_behind_it_and_does_not_take_the_lowest_units, allocated) {
    units_purge(0);
    unit_run a = units_alloc_with_room(1), b = units_alloc_with_room(1), slab = units_alloc(1);
    BOOST_TEST(slab.first < a.first);
    BOOST_TEST(units_extend(b.first, 1, 3));
    BOOST_TEST(units_extend(a.first, 1, 3));
    free_used(a.first, 4);
    free_used(b.first, 4);
    unit_run again = units_alloc_with_room(1); // where one was before, in memory that is there
    BOOST_TEST((again.first == a.first || again.first == b.first));
    BOOST_TEST(!again.clean);
    free_used(again.first, 1);
    free_used(slab.first, 1);
}

BOOST_FIXTURE_TEST_CASE(what_was_never_used_stays_clean, allocated) {
    units_purge(0);
    unit_run run = units_alloc(4);
    BOOST_TEST_REQUIRE(run.clean);
    bytes_of(run.first)[5000] = 1;
    units_free(run.first, 4, 5001);
    BOOST_TEST(units_statistics().dirty_free == 1u);
    BOOST_TEST(slab_at(run.first)->touched_pages == 2);
    BOOST_TEST(slab_at(run.first + 1)->touched_pages == 0);
    unit_run rest = units_alloc(4);
    BOOST_TEST(rest.first == run.first);
    BOOST_TEST(!rest.clean);
    BOOST_TEST(slab_at(run.first)->touched_pages == 2); // known also to who has it now
    units_free(rest.first, 4, 0);
    BOOST_TEST(units_statistics().dirty_free == 1u);
}

namespace {

// As a slab of the class would be, empty again.
std::uint32_t free_a_cut_one(unsigned size_class) {
    std::uint32_t unit = units_alloc(1).first;
    slab_at(unit)->size_class = static_cast<std::uint8_t>(size_class);
    units_free_cut(unit, unit_bytes);
    return unit;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_cut_unit_waits_for_a_slab_of_its_class_alone, allocated) {
    units_purge(0);
    std::uint32_t unit = free_a_cut_one(5);
    slab_unit other = units_alloc_for_slab(6); // the only dirty one: it is not left aside for a clean one
    BOOST_TEST(other.first == unit);
    BOOST_TEST(!other.is_cut);
    BOOST_TEST((slab_at(unit)->place != slab_place::cut));
    free_used(unit, 1);
    free_a_cut_one(5);
    slab_unit same = units_alloc_for_slab(5);
    BOOST_TEST(same.first == unit);
    BOOST_TEST(same.is_cut);
    BOOST_TEST(!units_alloc_for_slab(5).is_cut);
    free_used(unit, 1);
    free_used(unit + 1, 1);
}

BOOST_FIXTURE_TEST_CASE(a_cut_unit_that_goes_back_to_the_system_is_cut_no_more, allocated) {
    std::uint32_t unit = free_a_cut_one(5);
    units_purge(0);
    slab_unit next = units_alloc_for_slab(5);
    BOOST_TEST(!next.is_cut);
    BOOST_TEST(is_zero(unit, 1));
    free_used(next.first, 1);
}

namespace {

struct quick_to_purge : allocated {
    quick_to_purge() {
        units_purge(0);
        units_set_purge({.delay_ms = 60, .retain_units = 0});
    }
    ~quick_to_purge() { units_set_purge({}); }
    static void take_and_free_one() { free_used(units_alloc(1).first, 1); }
};

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

} // namespace

BOOST_FIXTURE_TEST_CASE(what_is_left_alone_goes_back_at_the_next_use_after_the_delay, quick_to_purge) {
    unit_run run = units_alloc(100);
    free_used(run.first, 100);
    BOOST_TEST(units_statistics().dirty_free == 100u);
    sleep_ms(80);
    BOOST_TEST(units_statistics().dirty_free == 100u); // nobody looks at the clock for it
    take_and_free_one();
    BOOST_TEST(units_statistics().dirty_free <= 1u);
    BOOST_TEST(is_zero(run.first + 50, 50));
}

BOOST_FIXTURE_TEST_CASE(what_is_needed_again_and_again_stays_and_the_rest_goes, quick_to_purge) {
    unit_run idle = units_alloc(100), busy = units_alloc(10);
    free_used(idle.first, 100);
    for (int i = 0; i < 40; ++i) {
        free_used(busy.first, 10);
        sleep_ms(5);
        busy = units_alloc(10);
        if (i >= 10) BOOST_TEST(!busy.clean);
    }
    BOOST_TEST(units_statistics().dirty_free == 0u); // ten of the hundred are the busy ones by now
    free_used(busy.first, 10);
}

BOOST_FIXTURE_TEST_CASE(what_is_to_be_retained_stays_and_no_delay_means_at_once, quick_to_purge) {
    units_set_purge({.delay_ms = 60, .retain_units = 30});
    free_used(units_alloc(100).first, 100);
    sleep_ms(80);
    take_and_free_one();
    BOOST_TEST(units_statistics().dirty_free == 31u); // with the one
    units_set_purge({.delay_ms = 0, .retain_units = 2});
    free_used(units_alloc(5).first, 5);
    BOOST_TEST(units_statistics().dirty_free == 2u);
    units_set_purge({.delay_ms = 60, .retain_units = 0});
    units_purge_when_asked_only();
    sleep_ms(80);
    take_and_free_one();
    BOOST_TEST(units_statistics().dirty_free == 2u);
}

BOOST_FIXTURE_TEST_CASE(what_is_due_is_never_what_is_retained_whatever_is_taken_meanwhile, quick_to_purge) {
    units_set_purge({.delay_ms = 60, .retain_units = 30});
    free_used(units_alloc(100).first, 100);
    sleep_ms(80);
    unit_run taken = units_alloc(60);
    BOOST_TEST(units_statistics().dirty_free == 30u);
    free_used(taken.first, 60);
    units_set_purge({.delay_ms = 1000, .retain_units = 400}); // more than is kept otherwise
    units_purge(0);
    free_used(units_alloc(350).first, 350);
    BOOST_TEST(units_statistics().dirty_free == 350u);
    free_used(units_alloc(500).first, 500);
    BOOST_TEST(units_statistics().dirty_free == 400u);
    units_purge(0);
}

// What the program has locked in memory and freed so stays, and nothing else does for it.
BOOST_FIXTURE_TEST_CASE(what_the_system_does_not_take_back_is_in_nobodys_way, quick_to_purge) {
    unit_run run = units_alloc(100);
    std::memset(bytes_of(run.first), 1, 100 * unit_bytes);
    bool is_locked = syscall(SYS_mlock, bytes_of(run.first + 40), 4096) == 0; // sanitizers lock nothing
    units_free(run.first, 100, 100 * unit_bytes);
    BOOST_TEST(units_purge(0) == (is_locked ? 99u : 100u));
    BOOST_TEST(units_statistics().dirty_free == (is_locked ? 1u : 0u));
    BOOST_TEST(is_zero(run.first, 40));
    BOOST_TEST(is_zero(run.first + 41, 59));
    sleep_ms(80);
    take_and_free_one(); // tries
    for (int i = 0; i < 2; ++i) {
        units_free(units_alloc(5).first, 5, 5 * unit_bytes);
        sleep_ms(80);
        take_and_free_one();
        BOOST_TEST(units_statistics().dirty_free <= 2u);
    }
    syscall(SYS_munlock, bytes_of(run.first + 40), 4096);
    units_purge(0);
    BOOST_TEST(units_statistics().dirty_free == 0u);
}

// The lock is not held while memory goes back: what other threads take meanwhile is theirs.
BOOST_FIXTURE_TEST_CASE(threads_that_take_free_and_purge_get_in_nobodys_way, allocated) {
    std::atomic<bool> is_wrong{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([t, &is_wrong] {
            std::mt19937 random(t);
            for (int i = 0; i < 300; ++i) {
                std::uint32_t count = 1 + random() % 9;
                unit_run run = random() % 2 ? units_alloc(count) : units_alloc_with_room(count);
                for (std::uint32_t u = 0; u < count; ++u) {
                    char &mark = bytes_of(run.first + u)[u * 64];
                    if (run.clean && mark != 0) is_wrong = true;
                    mark = static_cast<char>(t + 1);
                }
                if (random() % 8 == 0) units_purge(random() % 20);
                for (std::uint32_t u = 0; u < count; ++u)
                    if (bytes_of(run.first + u)[u * 64] != static_cast<char>(t + 1)) is_wrong = true;
                free_used(run.first, count);
            }
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(!is_wrong);
}

BOOST_FIXTURE_TEST_CASE(more_than_there_can_be_is_refused_and_changes_nothing, allocated) {
    unit_statistics before = units_statistics();
    BOOST_TEST(units_alloc(static_cast<std::uint32_t>(arena_max_units)).first == 0u);
    BOOST_TEST(units_statistics().mapped == before.mapped);
    BOOST_TEST(units_statistics().free == before.free);
}

// A model of who has which unit: no run is given twice, none is lost, and clean ones are zero.
BOOST_FIXTURE_TEST_CASE(random_runs_never_overlap_and_all_come_back, allocated) {
    std::mt19937 random(1);
    std::map<std::uint32_t, std::uint32_t> held; // first, count
    std::vector<bool> taken(1 << 16);
    for (int step = 0; step < 4000; ++step) {
        if (held.size() < 40 && random() % 3 != 0) {
            std::uint32_t count = random() % 4 != 0 ? 1 : 1 + random() % 12;
            std::size_t alignment = random() % 5 == 0 ? unit_bytes << (1 + random() % 4) : unit_bytes;
            unit_run run = alignment > unit_bytes ? units_alloc_aligned(count, alignment) : units_alloc(count);
            BOOST_TEST_REQUIRE(run.first != 0u);
            BOOST_TEST_REQUIRE(address_of(slab_at(run.first)) % alignment == 0u);
            for (std::uint32_t i = run.first; i < run.first + count; ++i) {
                BOOST_TEST_REQUIRE(!taken[i]);
                taken[i] = true;
                if (run.clean) BOOST_TEST_REQUIRE(bytes_of(i)[unit_bytes / 2] == 0);
                bytes_of(i)[unit_bytes / 2] = 1;
            }
            held[run.first] = count;
        } else if (!held.empty()) {
            auto victim = std::next(held.begin(), static_cast<long>(random() % held.size()));
            for (std::uint32_t i = victim->first; i < victim->first + victim->second; ++i) taken[i] = false;
            free_used(victim->first, victim->second);
            held.erase(victim);
        }
        if (step % 500 == 0) units_purge(random() % 20);
    }
    for (auto [first, count] : held) free_used(first, count);
}
