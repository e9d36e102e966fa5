#define BOOST_TEST_MODULE figures
#include <boost/test/unit_test.hpp>

#include "tools/figures.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace allot;

namespace {

tenant_figures tenant(const std::string &path, std::uint64_t current, std::uint64_t peak, std::uint64_t max) {
    tenant_figures t;
    t.path = path;
    t.current = current;
    t.peak = peak;
    t.max = max;
    t.events[allot_event_oom] = 2;
    t.stats[allot_stat_slab] = current;
    return t;
}

} // namespace

BOOST_AUTO_TEST_CASE(usage_and_events_are_added_peaks_are_the_highest_limits_the_first) {
    image_figures one, two;
    one.tenants = {tenant("/", 10, 100, 1000)};
    two.tenants = {tenant("/", 5, 70, 2000)};
    const auto sum = sum_of({one, two});
    BOOST_TEST_REQUIRE(sum.size() == 1U);
    BOOST_TEST(sum[0].current == 15U);
    BOOST_TEST(sum[0].peak == 100U);
    BOOST_TEST(sum[0].max == 1000U);
    BOOST_TEST(sum[0].events[allot_event_oom] == 4U);
    BOOST_TEST(sum[0].stats[allot_stat_slab] == 15U);
}

BOOST_AUTO_TEST_CASE(tenants_that_only_some_images_have_stand_where_they_belong) {
    image_figures one, two;
    one.tenants = {tenant("/", 1, 1, 1), tenant("/b", 1, 1, 1)};
    two.tenants = {tenant("/", 1, 1, 1), tenant("/a", 1, 1, 1), tenant("/a/x", 1, 1, 1)};
    std::vector<std::string> paths;
    for (const auto &t : sum_of({one, two})) paths.push_back(t.path);
    const std::vector<std::string> expected{"/", "/a", "/a/x", "/b"};
    BOOST_TEST(paths == expected, boost::test_tools::per_element());
    BOOST_TEST(sum_of({}).empty());
}

// Sorted by bytes, "/a-b" would come between "/a" and "/a/c", whose parent it is not.
BOOST_AUTO_TEST_CASE(children_follow_their_parent_before_its_siblings) {
    std::vector<std::string> paths{"/b", "/a-b", "/a/c", "/", "/a", "/a/b/c", "/a/b"};
    std::sort(paths.begin(), paths.end(), comes_before);
    const std::vector<std::string> expected{"/", "/a", "/a/b", "/a/b/c", "/a/c", "/a-b", "/b"};
    BOOST_TEST(paths == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_state_has_a_word) {
    BOOST_TEST(word_of(image_state::running) == std::string("running"));
    BOOST_TEST(word_of(image_state::exited) == std::string("exited"));
    BOOST_TEST(word_of(image_state::ended) == std::string("ended"));
    BOOST_TEST(word_of(image_state::unknown) == std::string("unknown"));
}
