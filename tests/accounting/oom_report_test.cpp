#define BOOST_TEST_MODULE oom_report
#include <boost/test/unit_test.hpp>

#include "accounting/oom_report.hpp"

#include "tests/support/dying.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

// External bytes have no stock, so every figure is known to the byte.
BOOST_FIXTURE_TEST_CASE(it_says_who_asked_for_what_how_full_each_level_is_and_who_uses_most, verified) {
    death d = death_of([] {
        accounting_child_start();
        auto charged = [](const char *path, std::uint64_t bytes) {
            allot_tenant *t = tenant_create_path(path);
            (void)charge_bytes(obj_cgroup_of(t), bytes, charge_kind::external);
            return tenant_from(t);
        };
        charged("/case/b", 800);
        charged("/case/a", 100);
        for (int i = 1; i < 6; ++i) charged(("/case/a/" + std::to_string(i)).c_str(), static_cast<std::uint64_t>(i));
        tenant *asked = charged("/case/a/small", 50);
        charged("/other", 5000);
        int error = 0;
        tenant *level = tenant_from(tenant_open("/case", error));
        (void)tenant_set(tenant_open("/case", error), "memory.max", "1000");
        oom_report(*asked, *level, 300, "that is all");
        _exit(0);
    });
    BOOST_TEST(
        d.message ==
        "allot: 300 bytes for /case/a/small would take /case over its limit of 1000; it uses 965 and that is all\n"
        "allot:   /case/a/small uses 50 of max, at most 50 so far, refusals below it 0\n"
        "allot:   /case/a uses 165 of max, at most 165 so far, refusals below it 0\n"
        "allot:   /case uses 965 of 1000, at most 965 so far, refusals below it 0\n"
        "allot:   / uses 5965 of max, at most 5965 so far, refusals below it 0\n"
        "allot:   800 of it is of /case/b\n"
        "allot:   100 of it is of /case/a\n"
        "allot:   50 of it is of /case/a/small\n"
        "allot:   5 of it is of /case/a/5\n"
        "allot:   4 of it is of /case/a/4\n");
}
