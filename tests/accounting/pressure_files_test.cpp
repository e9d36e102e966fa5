#define BOOST_TEST_MODULE pressure_files
#include <boost/test/unit_test.hpp>

#include "accounting/pressure_files.hpp"

#include "accounting/stalls.hpp"
#include "tests/support/verified.hpp"

#include <cerrno>

using namespace allot;

BOOST_FIXTURE_TEST_CASE(pressure_is_in_the_kernels_format_and_only_to_be_read, verified) {
    BOOST_TEST(get(make("/case/a"), "memory.pressure") == "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                                                          "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    BOOST_TEST(tenant_set(top, "memory.pressure", "some 150000 1000000") == -EACCES);
    { stall_scope stall(obj_cgroup_of(top)); }
    std::string text = get(top, "memory.pressure");
    BOOST_TEST(text.find("some avg10=0.00 avg60=0.00 avg300=0.00 total=") == 0u, text);
}

BOOST_FIXTURE_TEST_CASE(throttle_is_a_word_of_three, verified) {
    BOOST_TEST(get(top, "memory.throttle") == "inherit\n");
    for (const char *word : {"1", "0\n", "inherit"}) {
        BOOST_TEST(tenant_set(top, "memory.throttle", word) == 0);
        BOOST_TEST(get(top, "memory.throttle").find(word[0]) == 0u);
    }
    BOOST_TEST(tenant_set(top, "memory.throttle", "1") == 0);
    for (const char *wrong : {"", "2", "yes", "inherits", "10", "1\n1"})
        BOOST_TEST(tenant_set(top, "memory.throttle", wrong) == -EINVAL, wrong);
    BOOST_TEST(get(top, "memory.throttle") == "1\n");
}

BOOST_FIXTURE_TEST_CASE(all_that_is_charged_is_on_node_0, verified) {
    context *c = context_open(obj_cgroup_of(top));
    BOOST_TEST(charge(c, 4096));
    BOOST_TEST(charge_bytes(obj_cgroup_of(top), 8192, charge_kind::external));
    BOOST_TEST(get(top, "memory.numa_stat") == "slab N0=4096\nlarge N0=0\nexternal N0=8192\n");
    uncharge_bytes(obj_cgroup_of(top), 8192, charge_kind::external);
    uncharge(c, 4096);
    context_close(c);
}
