#define BOOST_TEST_MODULE figures
#include <boost/test/unit_test.hpp>

#include "tools/figures.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace allot;

// Sorted by bytes, "/a-b" would come between "/a" and "/a/c", whose parent it is not.
BOOST_AUTO_TEST_CASE(children_follow_their_parent_before_its_siblings) {
    std::vector<std::string> paths{"/b", "/a-b", "/a/c", "/", "/a", "/a/b/c", "/a/b"};
    std::sort(paths.begin(), paths.end(), comes_before);
    const std::vector<std::string> expected{"/", "/a", "/a/b", "/a/b/c", "/a/c", "/a-b", "/b"};
    BOOST_TEST(paths == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tenant_is_below_another_by_whole_names) {
    BOOST_TEST(is_at_or_below("/a/b", "/a"));
    BOOST_TEST(is_at_or_below("/a", "/a"));
    BOOST_TEST(is_at_or_below("/a", "/"));
    BOOST_TEST(!is_at_or_below("/ab", "/a"));
    BOOST_TEST(!is_at_or_below("/", "/a"));
}

BOOST_AUTO_TEST_CASE(each_state_has_a_word) {
    BOOST_TEST(word_of(process_life::running) == std::string("running"));
    BOOST_TEST(word_of(process_life::stopped) == std::string("stopped"));
    BOOST_TEST(word_of(process_life::exited) == std::string("exited"));
    BOOST_TEST(word_of(process_life::ended) == std::string("ended"));
}
