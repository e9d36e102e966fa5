#define BOOST_TEST_MODULE shared_remote
#include <boost/test/unit_test.hpp>

#include "accounting/shared/nodes.hpp"
#include "tests/support/actor.hpp"

#include <chrono>

using namespace allot;

namespace {

constexpr long object = 1024;
constexpr long max = 1 << 20, all = max / object;
using act = actor::act;

std::chrono::milliseconds time_of(auto code) {
    const auto begin = std::chrono::steady_clock::now();
    code();
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

} // namespace

BOOST_AUTO_TEST_CASE(what_an_idle_process_holds_unused_is_no_reason_to_refuse) {
    stage s;
    actor idle(s, "/t", "1M"), busy(s, "/t", "1M");
    BOOST_TEST(idle.take(object, 300) == 300);
    idle.give(object, 290);
    BOOST_TEST(s.unused("/t") != 0u);
    BOOST_TEST(busy.take(object, all) == all - 10);
    BOOST_TEST(s.usage("/t") == std::uint64_t{max});
    BOOST_TEST(s.unused("/t") == 0u);
    BOOST_TEST(idle.take(object, 1) == 0);
    busy.give(object, 1);
    BOOST_TEST(idle.take(object, 2) == 1);
    for (actor *a : {&idle, &busy}) BOOST_TEST(a->ask(act::verify) == 0);
}

BOOST_AUTO_TEST_CASE(nor_is_what_a_stopped_one_holds) {
    stage s;
    actor stopped(s, "/t", "1M"), busy(s, "/t", "1M");
    BOOST_TEST(stopped.take(object, 300) == 300);
    stopped.give(object, 290);
    stopped.stop();
    BOOST_TEST(busy.take(object, all) == all - 10);
    stopped.go_on();
    stopped.give(object, 10);
    BOOST_TEST(busy.take(object, all) == 10);
    for (actor *a : {&stopped, &busy}) BOOST_TEST(a->ask(act::verify) == 0);
}

// It may have taken from its stock what is not in its books yet. What it holds is out of reach, and nobody waits for it.
BOOST_AUTO_TEST_CASE(one_that_is_stopped_amid_its_slow_path_keeps_what_it_holds_and_holds_up_nobody) {
    stage s;
    actor stopped(s, "/t", "1M"), busy(s, "/t", "1M");
    BOOST_TEST(stopped.take(object, 100) == 100);
    stopped.give(object, 90);
    const auto held = static_cast<long>(s.unused("/t"));
    BOOST_TEST_REQUIRE(held != 0);
    (void)stopped.ask(act::lock_own);
    stopped.stop();
    long got = 0;
    const auto time = time_of([&] { got = busy.take(object, all); });
    BOOST_TEST_MESSAGE("refused after " << time.count() << " ms");
    BOOST_TEST(got == (max - held) / object - 10);
    stopped.go_on();
    (void)stopped.ask(act::unlock_own);
    BOOST_TEST(busy.take(object, all) == all - 10 - got);
    for (actor *a : {&stopped, &busy}) BOOST_TEST(a->ask(act::verify) == 0);
}

BOOST_AUTO_TEST_CASE(a_drain_that_is_stopped_holds_up_nobody_and_takes_nothing_back_later) {
    stage s;
    actor drainer(s, "/t", "1M"), owner(s, "/t", "1M"), third(s, "/t", "1M");
    BOOST_TEST(owner.take(object, 300) == 300);
    owner.give(object, 290);
    BOOST_TEST(drainer.ask(act::seal_others) == 1);
    drainer.stop();
    // Its owner needs the context that the drain has locked, and then a drain of its own.
    BOOST_TEST(owner.take(object, 20) == 20);
    BOOST_TEST(third.take(object, all) == all - 30);
    BOOST_TEST(third.take(object, 1) == 0);
    drainer.go_on();
    BOOST_TEST(drainer.ask(act::take_from_others) == 0); // not all that it had locked is
    for (actor *a : {&owner, &third, &drainer}) BOOST_TEST(a->ask(act::verify) == 0);
    BOOST_TEST(s.usage("/t") == std::uint64_t{max});
    owner.give(object, 30);
    BOOST_TEST(drainer.take(object, all) == 30);
}

BOOST_AUTO_TEST_CASE(a_drain_that_is_killed_leaves_contexts_locked_and_nobody_minds) {
    stage s;
    actor owner(s, "/t", "1M"), third(s, "/t", "1M");
    BOOST_TEST(owner.take(object, 300) == 300);
    owner.give(object, 290);
    {
        actor drainer(s, "/t", "1M");
        BOOST_TEST(drainer.take(object, 5) == 5);
        BOOST_TEST(drainer.ask(act::seal_others) == 1);
        drainer.end();
    }
    BOOST_TEST(third.take(object, all) == all - 10);
    BOOST_TEST(owner.take(object, 1) == 0);
    for (actor *a : {&owner, &third}) BOOST_TEST(a->ask(act::verify) == 0);
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_used_is_free_before_anybody_is_refused) {
    stage s;
    actor other(s, "/t", "1M");
    for (int round = 0; round < 3; ++round) {
        actor killed(s, "/t", "1M");
        BOOST_TEST(killed.take(object, all) == all);
        killed.end();
    }
    BOOST_TEST(other.take(object, all) == all);
    other.end();
    s.look();
    BOOST_TEST(shared::reap_dead(shared::root_node) == 1u);
    for (const char *path : {"/t", "/"}) BOOST_TEST(s.usage(path) == 0u);
}

BOOST_AUTO_TEST_CASE(limits_of_every_level_hold_for_the_sum_of_all) {
    stage s;
    actor a(s, "/t/a", "512K"), b(s, "/t/b", "max", "tree:/t memory.max=768K");
    // Who made /t set no limit: that is for who makes it.
    s.look();
    shared::node_at(s.node("/t")).set.max.store(768 << 10);
    BOOST_TEST(a.take(object, all) == 512);
    BOOST_TEST(b.take(object, all) == 256);
    a.give(object, 100);
    BOOST_TEST(b.take(object, all) == 100);
    BOOST_TEST(s.usage("/t") == std::uint64_t{768 << 10});
    for (actor *x : {&a, &b}) BOOST_TEST(x->ask(act::verify) == 0);
}

// From outside, by who is no member.
BOOST_AUTO_TEST_CASE(a_lowered_limit_takes_what_others_hold_unused) {
    stage s;
    actor a(s, "/t", "1M"), b(s, "/t", "1M");
    for (actor *x : {&a, &b}) {
        BOOST_TEST(x->take(object, 200) == 200);
        x->give(object, 190);
    }
    shared::node_at(s.node("/t")).set.max.store(20 * object);
    BOOST_TEST(shared::drain_others(s.node("/t")) == 0);
    BOOST_TEST(s.usage("/t") == std::uint64_t{20 * object});
    BOOST_TEST(a.take(object, 1) == 0);
    for (actor *x : {&a, &b}) BOOST_TEST(x->ask(act::verify) == 0);
}

BOOST_AUTO_TEST_CASE(a_copy_is_charged_for_what_it_takes_and_inherits_when_its_parent_dies) {
    stage s;
    actor parent(s, "/t", "1M");
    BOOST_TEST(parent.take(object, 300) == 300);
    const auto used = [&] { return s.usage("/t") - s.unused("/t"); };
    parent.tell(act::fork_child);
    long first = parent.answer(), second = parent.answer(); // of both, who listen to the same pipe from now on
    const long child = first == parent.pid() ? second : first;
    BOOST_TEST(used() == 300u * object);
    kill(parent.pid(), SIGKILL);
    (void)parent.wait();
    usleep(2000);
    s.look();
    BOOST_TEST(shared::reap_dead(shared::root_node) == 1u);
    BOOST_TEST(used() == 300u * object);
    BOOST_TEST(parent.take(object, all) == all - 300); // the child
    BOOST_TEST(parent.ask(act::verify) == 0);
    kill(static_cast<pid_t>(child), SIGKILL);
    for (int ms = 0; ms < 5000 && kill(static_cast<pid_t>(child), 0) == 0 && shared::reap_dead(shared::root_node) == 0;
         ++ms)
        usleep(1000);
    usleep(2000);
    (void)shared::reap_dead(shared::root_node);
    BOOST_TEST(s.usage("/") == 0u);
}
