#define BOOST_TEST_MODULE shared_victims
#include <boost/test/unit_test.hpp>

#include "accounting/shared/nodes.hpp"
#include "accounting/shared/victims.hpp"
#include "tests/support/actor.hpp"

using namespace allot;
using act = actor::act;

namespace {
bool lives(const actor &a) { return waitpid(a.pid(), nullptr, WNOHANG) == 0; }
} // namespace

BOOST_AUTO_TEST_CASE(the_one_that_is_charged_most_below_a_level_is_the_victim) {
    stage s;
    actor small(s, "/t/a", "max"), large(s, "/t/b", "max"), beside(s, "/u", "max");
    BOOST_TEST(small.take(1024, 100) == 100);
    BOOST_TEST(large.take(1024, 1000) == 1000);
    BOOST_TEST(beside.take(1024, 3000) == 3000);
    const std::uint32_t victim = shared::largest_below(s.node("/t"));
    BOOST_TEST(shared::pid_in(shared::member_at(victim).identity.load()) == static_cast<std::uint32_t>(large.pid()));
    BOOST_TEST(shared::charged_below(victim, s.node("/t")) >= 1000u * 1024);
    BOOST_TEST(shared::charged_below(victim, s.node("/u")) == 0u);
}

BOOST_AUTO_TEST_CASE(a_refusal_ends_the_largest_and_goes_on) {
    stage s;
    actor large(s, "/t", "1M", "oom:kill"), small(s, "/t", "1M");
    BOOST_TEST(large.take(1024, 900) == 900);
    BOOST_TEST(small.take(1024, 200) == 200);
    const int status = large.wait();
    BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    shared::node &t = shared::node_at(s.node("/t"));
    BOOST_TEST(t.events_local[allot_event_oom_kill] == 1u);
    BOOST_TEST(t.events_local[allot_event_oom_group_kill] == 0u);
    BOOST_TEST(small.ask(act::verify) == 0);
}

BOOST_AUTO_TEST_CASE(it_ends_itself_if_it_is_the_largest) {
    stage s;
    actor small(s, "/t", "1M", "oom:kill"), large(s, "/t", "1M");
    BOOST_TEST(small.take(1024, 100) == 100);
    large.tell(act::take, 1024, 1024);
    const int status = large.wait();
    BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    BOOST_TEST(lives(small));
    BOOST_TEST(small.take(1024, 800) == 800);
}

BOOST_AUTO_TEST_CASE(a_group_ends_together) {
    stage s;
    actor a(s, "/g/a", "max", "tree:/g memory.max=1M memory.oom.policy=kill memory.oom.group=1"), b(s, "/g/b", "max"),
        beside(s, "/u", "max");
    BOOST_TEST(a.take(1024, 100) == 100);
    b.tell(act::take, 1024, 2000);
    for (actor *x : {&a, &b}) {
        const int status = x->wait();
        BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    }
    BOOST_TEST(lives(beside));
    BOOST_TEST(shared::node_at(s.node("/g")).events_local[allot_event_oom_group_kill] == 1u);
}
