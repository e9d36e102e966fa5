#define BOOST_TEST_MODULE tenant_files
#include <boost/test/unit_test.hpp>

#include "accounting/tenant_files.hpp"

#include "tests/support/verified.hpp"

#include <cerrno>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(limits_are_kept_to_the_byte_and_shown_as_the_kernel_does, verified) {
    BOOST_TEST(get(top, "memory.max") == "max\n");
    BOOST_TEST(get(top, "memory.min") == "0\n");
    BOOST_TEST(tenant_set(top, "memory.max", "4097") == 0);
    BOOST_TEST(get(top, "memory.max") == "4097\n");
    BOOST_TEST(tenant_set(top, "memory.high", "1.5K\n") == 0);
    BOOST_TEST(get(top, "memory.high") == "1536\n");
    BOOST_TEST(tenant_set(top, "memory.low", "2M") == 0);
    BOOST_TEST(get(top, "memory.low") == "2097152\n");
    BOOST_TEST(tenant_set(top, "memory.max", "infinity") == 0);
    BOOST_TEST(get(top, "memory.max") == "max\n");
}

BOOST_FIXTURE_TEST_CASE(a_percentage_is_of_the_parents_max, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "10M") == 0);
    allot_tenant *a = make("/case/a");
    BOOST_TEST(tenant_set(a, "memory.max", "25%") == 0);
    BOOST_TEST(get(a, "memory.max") == "2621440\n");
    BOOST_TEST(tenant_set(a, "memory.max", "101%") == -EINVAL);
}

BOOST_FIXTURE_TEST_CASE(a_write_that_is_refused_changes_nothing, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.max", "1M") == 0);
    for (const char *bad : {"", "-1", "5MB", "1e9", "much"})
        BOOST_TEST(tenant_set(top, "memory.max", bad) == -EINVAL, bad);
    BOOST_TEST(get(top, "memory.max") == "1048576\n");
    BOOST_TEST(tenant_set(top, "memory.current", "0") == -EACCES);
    BOOST_TEST(tenant_set(top, "memory.swap.max", "0") == -ENOENT);
    BOOST_TEST(tenant_set(top, "memory.oom.policy", "failure") == -EINVAL);
    BOOST_TEST(get(top, "memory.swap.max") == "error " + std::to_string(-ENOENT));
}

BOOST_FIXTURE_TEST_CASE(events_are_flat_keyed_in_the_kernels_order, verified) {
    BOOST_TEST(get(top, "memory.events") == "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n");
}

BOOST_FIXTURE_TEST_CASE(events_go_up_and_local_ones_stay, verified) {
    allot_tenant *a = make("/case/a", "4K");
    context *c = context_open(obj_cgroup_of(a));
    BOOST_TEST(!charge(c, 8192));
    BOOST_TEST(keyed(a, "memory.events.local", "oom") == 1u);
    BOOST_TEST(keyed(top, "memory.events", "oom") == 1u);
    BOOST_TEST(keyed(top, "memory.events.local", "oom") == 0u);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(going_over_high_is_counted_and_refuses_nothing, verified) {
    BOOST_TEST_REQUIRE(tenant_set(top, "memory.high", "1M") == 0);
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 32; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    BOOST_TEST(keyed(top, "memory.events", "high") == 1u);
    for (int i = 0; i < 32; ++i) uncharge(c, 65536);
    for (int i = 0; i < 32; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    BOOST_TEST(keyed(top, "memory.events", "high") == 2u);
    for (int i = 0; i < 32; ++i) uncharge(c, 65536);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(a_write_to_peak_starts_it_anew, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 64; ++i) BOOST_TEST_REQUIRE(charge(c, 65536));
    for (int i = 0; i < 64; ++i) uncharge(c, 65536);
    BOOST_TEST(number(top, "memory.peak") >= 64u * 65536);
    BOOST_TEST(tenant_set(top, "memory.peak", "reset") == 0);
    BOOST_TEST(number(top, "memory.peak") == usage_of("/case"));
    context_close(c);
}

// Else up to a batch a thread could be used beyond the new limit without anyone noticing.
BOOST_FIXTURE_TEST_CASE(a_limit_below_usage_takes_the_stocks_and_refuses, verified) {
    context *c = context_open(obj_cgroup_of(top));
    for (int i = 0; i < 8; ++i) BOOST_TEST_REQUIRE(charge(c, 16384));
    BOOST_TEST(tenant_set(top, "memory.max", "64K") == 0);
    BOOST_TEST(usage_of("/case") == 8u * 16384);
    BOOST_TEST(!charge(c, 16));
    for (int i = 0; i < 5; ++i) uncharge(c, 16384);
    BOOST_TEST(charge(c, 16384));
    BOOST_TEST(!charge(c, 16));
    for (int i = 0; i < 4; ++i) uncharge(c, 16384);
    context_close(c);
}

BOOST_FIXTURE_TEST_CASE(text_that_does_not_fit_is_cut_and_terminated, verified) {
    char small[5] = {'x', 'x', 'x', 'x', 'x'};
    BOOST_TEST(tenant_get(top, "memory.max", small, sizeof small) == 4);
    BOOST_TEST(small == "max\n");
    BOOST_TEST(tenant_get(top, "memory.max", small, 3) == 4);
    BOOST_TEST(small == "ma");
    BOOST_TEST(tenant_get(top, "memory.max", nullptr, 0) == 4);
}

BOOST_FIXTURE_TEST_CASE(every_listed_file_can_be_read, verified) {
    std::uint32_t number = 0;
    for (; tenant_file_name(number) != nullptr; ++number)
        BOOST_TEST(get(top, tenant_file_name(number)).find("error") == std::string::npos, tenant_file_name(number));
    BOOST_TEST(number >= 11u);
}
