#define BOOST_TEST_MODULE tenant_files
#include <boost/test/unit_test.hpp>

#include "accounting/tenant_files.hpp"

#include "tests/support/verified.hpp"

#include <cerrno>

using namespace allot;

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
    for (; tenant_file_name(number) != nullptr; ++number) {
        std::string name = tenant_file_name(number);
        bool is_only_written = name == "cgroup.kill" || name == "memory.reclaim";
        BOOST_TEST((get(top, name.c_str()) == "error " + std::to_string(-EACCES)) == is_only_written, name);
    }
    BOOST_TEST(number >= 18u);
}

BOOST_FIXTURE_TEST_CASE(a_file_of_a_tenant_that_is_gone_is_stale, verified) {
    allot_tenant *a = make("/case/a");
    BOOST_TEST(tenant_destroy(a) == 0);
    BOOST_TEST(get(a, "memory.max") == "error " + std::to_string(-ESTALE));
    BOOST_TEST(tenant_set(a, "memory.max", "1M") == -ESTALE);
    BOOST_TEST(tenant_set(a, "cgroup.kill", "1") == -ESTALE);
}
