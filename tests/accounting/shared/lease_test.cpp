#define BOOST_TEST_MODULE shared_lease
#include <boost/test/unit_test.hpp>

#include "accounting/shared/lease.hpp"
#include "tests/support/shared_tree.hpp"

using namespace allot;
using namespace allot::shared;

BOOST_FIXTURE_TEST_CASE(who_has_it_drains_what_it_says_and_all_below, shared_tree) {
    const std::uint32_t a = made("/a"), below = made("/a/b"), beside = made("/c");
    BOOST_TEST(!is_drained(a));
    const std::uint32_t ticket = lease_take(a);
    BOOST_TEST((is_drained(a) && is_drained(below)));
    BOOST_TEST((!is_drained(beside) && !is_drained(root_node)));
    BOOST_TEST(lease_extend(ticket, beside));
    BOOST_TEST((!is_drained(a) && is_drained(beside)));
    lease_give(ticket);
    BOOST_TEST(!is_drained(beside));
    BOOST_TEST(lease_take(a) != ticket);
}

BOOST_FIXTURE_TEST_CASE(one_whose_holder_died_is_taken_at_once, shared_tree) {
    const std::uint32_t a = made("/a");
    other_process holder(root_node, [a](other_process::words &w) { w.a = lease_take(a); });
    holder.end();
    const std::uint64_t begin = os_nanoseconds();
    const std::uint32_t ticket = lease_take(a);
    BOOST_TEST_MESSAGE("taken after " << (os_nanoseconds() - begin) / 1000 << " us");
    BOOST_TEST(ticket != holder.told->a);
    BOOST_TEST(is_drained(a));
    lease_give(ticket);
}

BOOST_FIXTURE_TEST_CASE(one_whose_holder_is_stopped_is_taken_over_and_the_holder_finds_out, shared_tree) {
    const std::uint32_t a = made("/a");
    other_process holder(root_node, [a](other_process::words &w) {
        w.a = lease_take(a);
        w.is_ready = 1;
        raise(SIGSTOP);
        w.b = lease_extend(w.a, a) ? 1 : 2; // and does not mark anything as drained
        lease_give(w.a);
        w.nr_children = 1;
    });
    const std::uint32_t ticket = lease_take(a);
    BOOST_TEST(ticket != holder.told->a);
    kill(holder.pid, SIGCONT);
    while (holder.told->nr_children == 0) usleep(50);
    BOOST_TEST(holder.told->b == 2u);
    BOOST_TEST(lease_extend(ticket, a));
    BOOST_TEST(is_drained(a));
    lease_give(ticket);
}

BOOST_FIXTURE_TEST_CASE(a_mark_that_nobody_takes_away_ends_by_itself, shared_tree) {
    const std::uint32_t a = made("/a");
    const std::uint32_t ticket = lease_take(a);
    usleep(lease_ns / 1000 + 1000);
    BOOST_TEST(!is_drained(a));
    BOOST_TEST(!lease_extend(ticket, a)); // who looked has ended it
    BOOST_TEST(!is_drained(a));
}
