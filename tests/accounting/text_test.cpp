#define BOOST_TEST_MODULE text
#include <boost/test/unit_test.hpp>

#include "accounting/text.hpp"

#include <string>

using namespace allot;

BOOST_AUTO_TEST_CASE(a_length_does_not_count_the_zero) {
    BOOST_TEST(text_length("") == 0U);
    BOOST_TEST(text_length("max") == 3U);
}

BOOST_AUTO_TEST_CASE(a_text_is_the_same_only_when_it_is_whole) {
    BOOST_TEST(same_text("max", "max", 3));
    BOOST_TEST(same_text("max", "maximum", 3));
    BOOST_TEST(!same_text("max", "maximum", 4));
    BOOST_TEST(!same_text("maximum", "max", 3));
    BOOST_TEST(same_text("", "x", 0));
}

BOOST_AUTO_TEST_CASE(a_copy_is_cut_to_its_place_and_terminated) {
    char out[6] = {'?', '?', '?', '?', '?', '?'};
    copy_text("abcdefgh", out, 5);
    BOOST_TEST(std::string(out) == "abcd");
    BOOST_TEST(out[5] == '?');
    copy_text("x", out, 1);
    BOOST_TEST(std::string(out) == "");
}

BOOST_AUTO_TEST_CASE(names_make_a_path_from_the_lowest_up) {
    const char *names[] = {"c", "bee", "a"};
    char out[16];
    BOOST_TEST(write_names(names, 3, 8, out, sizeof out) == 8u);
    BOOST_TEST(std::string(out) == "/a/bee/c");
    BOOST_TEST(write_names(names, 3, 2, out, sizeof out) == 7u); // a name that is not terminated
    BOOST_TEST(std::string(out) == "/a/be/c");
    BOOST_TEST(write_names(names, 0, 8, out, sizeof out) == 1u);
    BOOST_TEST(std::string(out) == "/");
    BOOST_TEST(write_names(names, 3, 8, out, 4) == 8u);
    BOOST_TEST(std::string(out) == "/a/");
    BOOST_TEST(write_names(names, 3, 8, nullptr, 0) == 8u);
}
