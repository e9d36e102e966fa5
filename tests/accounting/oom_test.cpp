#define BOOST_TEST_MODULE oom
#include <boost/test/unit_test.hpp>

#include "accounting/oom.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/nodes.hpp"
#include "tests/support/dying.hpp"
#include "tests/support/hierarchy.hpp"
#include "tests/support/verified.hpp"

#include <fcntl.h>
#include <map>

using namespace allot;

// First, since its child starts accounting itself. The books outlive the process: they say that it was killed, and in whose name.
BOOST_AUTO_TEST_CASE(kills_are_counted_at_the_victim_and_at_the_highest_group_below_the_level) {
    hierarchy h;
    int status = h.run([] {
        setenv("ALLOT_TENANT", "/web/api/v1", 1);
        setenv("ALLOT_TREE",
               "/web memory.max=1M memory.oom.policy=kill;/web/api memory.oom.group=1;"
               "/web/api/v1 memory.oom.group=1",
               1);
        int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, 2);
        if (!accounting_start() || tenant_set(tenant_root(), "memory.oom.group", "1") != 0) _exit(1);
        context *c = context_open(obj_cgroup_of(tenant_default()));
        (void)charge(c, 2048 * 1024);
    });
    BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)); // 137 to a shell
    BOOST_TEST_REQUIRE(h.attach());
    const auto of = [](const char *path) -> shared::node & { return shared::node_at(shared::node_open(path).node); };
    BOOST_TEST(of("/web").events_local[allot_event_oom] == 1u);
    BOOST_TEST(of("/web/api/v1").events_local[allot_event_oom_kill] == 1u);
    BOOST_TEST(of("/").events[allot_event_oom_kill] == 1u);
    BOOST_TEST(of("/web/api").events_local[allot_event_oom_group_kill] == 1u); // the root is above the level
    BOOST_TEST(of("/web/api/v1").events_local[allot_event_oom_group_kill] == 0u);
    shared::detach();
}

BOOST_FIXTURE_TEST_CASE(a_refusal_is_quiet_and_counted, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "64K") == 0);
    context *c = context_open(obj_cgroup_of(make("/case/a")));
    std::string peak = get(top, "memory.peak");
    death d = death_of([&] {
        accounting_child_start();
        context *own = context_open(obj_cgroup_of(tenant_create_path("/case/a")));
        _exit(charge(own, 65552) ? 1 : 0);
    });
    BOOST_TEST(d.message == "");
    BOOST_TEST((d.signal == 0 && d.status == 0));
    BOOST_TEST(!charge(c, 65552));
    BOOST_TEST(get(top, "memory.peak") == peak);
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 1u);
    BOOST_TEST(keyed(top, "memory.events.local", "max") == 1u);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(with_the_policy_abort_it_says_who_asked_for_what_and_who_uses_most, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.oom.policy", "abort") == 0);
    make("/case/a/small");
    make("/case/b");
    death d = death_of([] {
        accounting_child_start();
        context *big = context_open(obj_cgroup_of(tenant_create_path("/case/b")));
        (void)charge(big, 800 * 1024);
        context *small = context_open(obj_cgroup_of(tenant_create_path("/case/a/small")));
        (void)charge(small, 300 * 1024);
    });
    BOOST_TEST(d.signal == SIGABRT);
    auto says = [&](const char *text) { return d.message.find(text) != std::string::npos; };
    BOOST_TEST(says("allot: 307200 bytes for /case/a/small would take /case over its limit of 1048576; it uses 819200"),
               d.message);
    BOOST_TEST(says("allot:   819200 of it is of /case/b\n"), d.message);
    BOOST_TEST(says("allot:   / uses 819200 of max, at most 819200 so far, refusals below it 1\n"), d.message);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_may_say_fail_below_one_that_says_abort, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.oom.policy", "abort") == 0);
    allot_tenant *a = make("/case/a", "4K");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.oom.policy", "fail") == 0);
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST(!charge(c, 8192));
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(with_the_policy_kill_the_process_ends_by_sigkill_after_the_report, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.oom.policy", "kill") == 0);
    death d = death_of([] {
        accounting_child_start();
        context *c = context_open(obj_cgroup_of(tenant_create_path("/case/a")));
        (void)charge(c, 2048 * 1024);
    });
    BOOST_TEST(d.signal == SIGKILL);
    BOOST_TEST(
        d.message.find("allot: 2097152 bytes for /case/a would take /case over its limit of 1048576; it uses 0 and "
                       "memory.oom.policy is kill\n") == 0u,
        d.message);
}

// There no shrinker can be asked, so it is not known yet that nothing helps.
BOOST_FIXTURE_TEST_CASE(what_user_code_is_refused_fails_whatever_the_policy, verified) {
    allot_tenant *a = make("/case/a", "4K");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.oom.policy", "abort") == 0);
    context *c = context_open(obj_cgroup_of(a));
    {
        user_code_scope user_code;
        BOOST_TEST(!charge(c, 8192));
    }
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 1u);
    context_close(c);
}
