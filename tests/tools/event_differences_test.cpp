#define BOOST_TEST_MODULE event_differences
#include <boost/test/unit_test.hpp>

#include "tools/event_differences.hpp"

using namespace allot;

namespace {

tenant_figures tenant(const std::string &path, std::uint64_t oom) {
    tenant_figures t;
    t.path = path;
    t.events_local[allot_event_oom] = oom;
    return t;
}

} // namespace

BOOST_AUTO_TEST_CASE(only_what_happens_between_two_looks_is_told) {
    event_counts counts;
    BOOST_TEST(counts.look({tenant("/a", 5)}).empty());
    BOOST_TEST(counts.look({tenant("/a", 5)}).empty());
    const auto found = counts.look({tenant("/a", 7), tenant("/new", 2)});
    BOOST_TEST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].tenant == "/a");
    BOOST_TEST(found[0].event == static_cast<std::uint32_t>(allot_event_oom));
    BOOST_TEST(found[0].count == 2u);
    BOOST_TEST(found[0].total == 7u);
    BOOST_TEST(found[1].count == 2u);
}

BOOST_AUTO_TEST_CASE(a_tenant_that_was_made_again_begins_anew) {
    event_counts counts;
    (void)counts.look({tenant("/a", 5)});
    BOOST_TEST(counts.look({tenant("/a", 0)}).empty());
    const auto found = counts.look({tenant("/a", 3)});
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].count == 3u);
}
