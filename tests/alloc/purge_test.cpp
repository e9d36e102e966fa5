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
