#define BOOST_TEST_MODULE purge
#include <boost/test/unit_test.hpp>

#include "alloc/purge.hpp"

#include <algorithm>
#include <random>
#include <vector>

using namespace allot;

BOOST_AUTO_TEST_CASE(what_lies_free_throughout_an_epoch_is_due_at_its_end) {
    idle_memory idle;
    purge_settings settings{.delay_ms = 100, .retain_units = 0};
    BOOST_TEST(idle.look(settings, 0, 1000) == 0u); // the first epoch begins
    BOOST_TEST(idle.look(settings, 10, 1015) == 0u);
    BOOST_TEST(idle.look(settings, 10, 1030) == 0u); // they were not there at the beginning
    BOOST_TEST(idle.look(settings, 10, 1040) == 0u);
    BOOST_TEST(idle.look(settings, 10, 1054) == 0u);
    BOOST_TEST(idle.look(settings, 10, 1055) == 10u);
}

BOOST_AUTO_TEST_CASE(what_was_taken_meanwhile_is_not_due) {
    idle_memory idle;
    purge_settings settings{.delay_ms = 100, .retain_units = 0};
    idle.look(settings, 0, 1000);
    idle.look(settings, 10, 1015);
    idle.look(settings, 10, 1026);
    idle.look(settings, 10, 1040);
    idle.note_taken(4);
    BOOST_TEST(idle.look(settings, 10, 1050) == 0u);
    BOOST_TEST(idle.look(settings, 10, 1051) == 4u);
}

BOOST_AUTO_TEST_CASE(after_a_long_silence_all_is_due_at_once) {
    idle_memory idle;
    purge_settings settings{.delay_ms = 100, .retain_units = 0};
    idle.look(settings, 0, 1000);
    idle.look(settings, 3, 1010);
    BOOST_TEST(idle.look(settings, 8, 1110) == 8u);
}

BOOST_AUTO_TEST_CASE(what_is_retained_and_what_nobody_wants_purged_is_never_due) {
    idle_memory idle;
    BOOST_TEST(idle.look({.delay_ms = 100, .retain_units = 6}, 10, 1000) == 4u);
    BOOST_TEST(idle.look({.delay_ms = 100, .retain_units = 6}, 5, 5000) == 0u);
    BOOST_TEST(idle.look({.delay_ms = never_purge, .retain_units = 0}, 10, 9000) == 0u);
}

BOOST_AUTO_TEST_CASE(above_the_bound_memory_goes_at_once_with_some_room) {
    idle_memory idle;
    BOOST_TEST(idle.above_bound({}, 64) == 0u);
    BOOST_TEST(idle.above_bound({}, 65) == 65u - 48u);
    BOOST_TEST(idle.above_bound({.delay_ms = 1000, .retain_units = 1000}, 1000) == 0u);
    BOOST_TEST(idle.above_bound({.delay_ms = 1000, .retain_units = 1000}, 1001) == 1u);
    BOOST_TEST(idle.above_bound({.delay_ms = 1000, .retain_units = 200}, 257) == 257u - 200u);
}

BOOST_AUTO_TEST_CASE(the_bound_follows_a_heap_that_breathes_and_comes_back) {
    idle_memory idle;
    purge_settings settings{.delay_ms = 1000, .retain_units = 0};
    idle.look(settings, 0, 1000);
    std::uint64_t now = 1000;
    std::uint32_t gone = idle.above_bound(settings, 400);
    BOOST_TEST(gone != 0u);
    for (int breath = 0; breath < 3; ++breath) { // all 400 are taken and freed, time and again
        idle.note_taken_fresh(gone);
        idle.note_taken(0);
        idle.look(settings, 0, now += 10);
        gone = idle.above_bound(settings, 400);
    }
    BOOST_TEST(gone == 0u);
    BOOST_TEST(idle.above_bound(settings, 2000) != 0u); // but no higher than what it breathes
    while (idle.look(settings, 400, now += 100) == 0) {}
    BOOST_TEST(idle.above_bound(settings, 400) != 0u);
}

BOOST_AUTO_TEST_CASE(fresh_memory_that_nobody_sent_away_does_not_raise_the_bound) {
    idle_memory idle;
    idle.note_taken_fresh(10000);
    BOOST_TEST(idle.above_bound({}, 65) != 0u);
    purge_settings settings{.delay_ms = 1000, .retain_units = 0};
    idle.look(settings, 65, 1000);
    idle.look(settings, 65, 9000); // long ago
    idle.note_taken_fresh(10000);
    BOOST_TEST(idle.above_bound({}, 65) != 0u);
}

BOOST_AUTO_TEST_CASE(the_bound_has_an_end) {
    idle_memory idle;
    for (int i = 0; i < 100; ++i) {
        (void)idle.above_bound({}, 100000);
        idle.note_taken_fresh(100000);
    }
    BOOST_TEST(idle.above_bound({}, 4097) != 0u);
    BOOST_TEST(idle.above_bound({}, 4096) == 0u);
}

// The two promises, against a log of how many there were when: nothing goes that was used within a quarter of the delay, and all
// that was left alone for the whole of it does.
BOOST_AUTO_TEST_CASE(random_lives_keep_both_promises) {
    struct moment {
        std::uint64_t ms;
        std::uint32_t nr_dirty;
    };
    std::mt19937 random(7);
    for (int life = 0; life < 300; ++life) {
        idle_memory idle;
        purge_settings settings{.delay_ms = 100, .retain_units = 0};
        std::vector<moment> log{{1000, 0}};
        std::uint64_t now = 1000;
        std::uint32_t nr_dirty = 0;
        auto least_since = [&](std::uint64_t ms) {
            std::uint32_t least = nr_dirty;
            for (std::size_t i = log.size(); i-- > 0;) {
                least = std::min(least, log[i].nr_dirty);
                if (log[i].ms <= ms) break;
            }
            return least;
        };
        for (int step = 0; step < 400; ++step) {
            now += random() % 10 == 0 ? random() % 200 : random() % 8;
            std::uint32_t due = idle.look(settings, nr_dirty, now);
            BOOST_TEST_REQUIRE(due <= least_since(now - 25));
            nr_dirty -= due;
            for (moment &m : log) m.nr_dirty -= std::min(m.nr_dirty, due); // what is left was never more than that
            BOOST_TEST_REQUIRE(std::min(nr_dirty, least_since(now - 100)) == 0u);
            if (std::uint32_t taken = random() % 4 == 0 ? 0 : random() % (nr_dirty + 1); taken != 0) {
                nr_dirty -= taken;
                idle.note_taken(nr_dirty);
            } else {
                nr_dirty += random() % 20;
            }
            log.push_back({now, nr_dirty});
        }
    }
}
