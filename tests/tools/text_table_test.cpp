#define BOOST_TEST_MODULE text_table
#include <boost/test/unit_test.hpp>

#include "accounting/base/units.hpp"
#include "tools/text_table.hpp"

using namespace allot;

BOOST_AUTO_TEST_CASE(columns_are_as_wide_as_they_must_be) {
    const auto lines = table_lines({"name", "n"}, {{"caf\xc3\xa9", "1"}, {"a", "1000"}});
    BOOST_TEST_REQUIRE(lines.size() == 3u);
    BOOST_TEST(lines[0] == "name     n");
    BOOST_TEST(lines[1] == "caf\xc3\xa9     1");
    BOOST_TEST(lines[2] == "a     1000");
}

BOOST_AUTO_TEST_CASE(names_cannot_steer_a_terminal) {
    BOOST_TEST(shown("a\x1b[2J\n\x7f") == "a?[2J??");
    BOOST_TEST(shown("\xc2\x9b"
                     "1m caf\xc3\xa9 \xff") == "?1m caf\xc3\xa9 ?"); // C1 in UTF-8, and no UTF-8
}

BOOST_AUTO_TEST_CASE(a_line_is_cut_between_characters) {
    BOOST_TEST(fitted("caf\xc3\xa9s", 4) == "caf\xc3\xa9");
    BOOST_TEST(fitted("ab", 4) == "ab  ");
    BOOST_TEST(fitted("", 0).empty());
}

BOOST_AUTO_TEST_CASE(a_limit_is_shown_as_given_where_that_is_short) {
    BOOST_TEST(limit_text(std::uint64_t{64} << 20) == "64M");
    BOOST_TEST(limit_text(12999999999) == "12.1G");
    BOOST_TEST(limit_text(unlimited) == "max");
}
