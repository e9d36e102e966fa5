#define BOOST_TEST_MODULE text_line
#include <boost/test/unit_test.hpp>

#include "accounting/text_line.hpp"

#include <string>

using namespace allot;

BOOST_AUTO_TEST_CASE(pieces_are_put_one_after_the_other) {
    char out[64];
    text_line l(out, sizeof out);
    l.add("pid ").add_number(0).add(", ").add_number(18446744073709551615U).add("xyz", 1);
    BOOST_TEST(std::string(out) == "pid 0, 18446744073709551615x");
    BOOST_TEST(l.length() == std::string(out).size());
}

BOOST_AUTO_TEST_CASE(a_line_is_cut_where_the_buffer_ends_and_stays_terminated) {
    char out[8] = {'?', '?', '?', '?', '?', '?', '?', '?'};
    text_line l(out, 5);
    l.add("abcdefgh").add("i");
    BOOST_TEST(std::string(out) == "abcd");
    BOOST_TEST(l.length() == 4U);
    BOOST_TEST(out[5] == '?');
}

BOOST_AUTO_TEST_CASE(a_text_is_the_same_only_when_it_is_whole) {
    BOOST_TEST(same_text("max", "max", 3));
    BOOST_TEST(same_text("max", "maximum", 3));
    BOOST_TEST(!same_text("max", "maximum", 4));
    BOOST_TEST(!same_text("maximum", "max", 3));
    BOOST_TEST(same_text("", "x", 0));
}
