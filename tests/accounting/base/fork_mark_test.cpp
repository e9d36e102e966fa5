#define BOOST_TEST_MODULE fork_mark
#include <boost/test/unit_test.hpp>

#include "accounting/base/fork_mark.hpp"

#include "tests/support/child.hpp"

#include <atomic>
#include <thread>
#include <vector>

using namespace allot;

BOOST_AUTO_TEST_CASE(the_first_to_ask_repairs_and_then_nobody) {
    fork_mark mark;
    BOOST_TEST(!mark.is_repaired());
    BOOST_TEST((mark.ask() == fork_answer::new_process));
    BOOST_TEST(!mark.is_repaired());
    BOOST_TEST((mark.ask() == fork_answer::ask_later)); // as a handler amid the repair
    mark.repaired();
    BOOST_TEST(mark.is_repaired());
    BOOST_TEST((mark.ask() == fork_answer::same_process));
}

BOOST_AUTO_TEST_CASE(a_child_is_told_once_and_its_parent_never) {
    fork_mark mark;
    (void)mark.ask();
    mark.repaired();
    child_end end = in_child([&] {
        if (mark.is_repaired() || mark.ask() != fork_answer::new_process) return 1;
        mark.repaired();
        return mark.ask() == fork_answer::same_process ? 0 : 2;
    });
    BOOST_TEST(end.exited_with(0));
    BOOST_TEST(mark.is_repaired());
}

BOOST_AUTO_TEST_CASE(one_thread_repairs_while_others_wait) {
    fork_mark mark;
    std::atomic<int> repairs{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            if (mark.ask() != fork_answer::new_process) return;
            repairs++;
            mark.repaired();
        });
    for (std::thread &t : threads) t.join();
    BOOST_TEST(repairs == 1);
}
