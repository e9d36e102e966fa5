#define BOOST_TEST_MODULE nearest
#include <boost/test/unit_test.hpp>

#include "accounting/nearest.hpp"

#include <string>

using namespace allot;

namespace {

std::uint32_t distance(const std::string &a, const std::string &b) {
    return edit_distance(a.data(), a.size(), b.data(), b.size());
}

} // namespace

BOOST_AUTO_TEST_CASE(one_slip_of_the_finger_is_a_distance_of_one) {
    BOOST_TEST(distance("memory", "memory") == 0U);
    BOOST_TEST(distance("memry", "memory") == 1U);   // one left out
    BOOST_TEST(distance("memoory", "memory") == 1U); // one too many
    BOOST_TEST(distance("nemory", "memory") == 1U);  // another
    BOOST_TEST(distance("memroy", "memory") == 1U);  // two swapped
    BOOST_TEST(distance("emmroy", "memory") == 2U);
}

BOOST_AUTO_TEST_CASE(an_empty_text_is_as_far_as_the_other_is_long) {
    BOOST_TEST(distance("", "") == 0U);
    BOOST_TEST(distance("", "oom") == 3U);
    BOOST_TEST(distance("oom", "") == 3U);
    BOOST_TEST(distance("abc", "xyz") == 3U);
}

BOOST_AUTO_TEST_CASE(capitals_and_separators_are_no_difference) {
    BOOST_TEST(distance("MEMORY_MAX", "memory.max") == 0U);
    BOOST_TEST(distance("memory-max", "memory_max") == 0U);
}

BOOST_AUTO_TEST_CASE(the_distance_is_symmetric) {
    for (const char *a : {"oom", "account", "memory.max", "tenant", ""})
        for (const char *b : {"tree", "memory.min", "strict", "xmemory.ma"})
            BOOST_TEST(distance(a, b) == distance(b, a));
}

// The rows on the stack have a fixed length: a longer text must neither overflow them nor be refused.
BOOST_AUTO_TEST_CASE(long_texts_are_compared_by_their_beginning) {
    const std::string long_text(10000, 'a');
    BOOST_TEST(distance(long_text, long_text + "b") == 0U);
    BOOST_TEST(distance(long_text, "a") == nearest_max_length - 1);
}
