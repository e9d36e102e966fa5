#define BOOST_TEST_MODULE oom
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "tests/support/dying.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

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
    BOOST_TEST(says("allot:   below it: /case/b uses 819200\n"), d.message);
    BOOST_TEST(says("allot:   / uses 819200 of max\n"), d.message);
}

BOOST_FIXTURE_TEST_CASE(a_tenant_may_say_fail_below_one_that_says_abort, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.oom.policy", "abort") == 0);
    allot_tenant *a = make("/case/a", "4K");
    BOOST_TEST_REQUIRE(tenant_set(a, "memory.oom.policy", "fail") == 0);
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST(!charge(c, 8192));
    context_close(c);
}
