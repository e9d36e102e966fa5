#define BOOST_TEST_MODULE report
#include <boost/test/unit_test.hpp>

#include "accounting/base/report.hpp"

#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace allot;

BOOST_AUTO_TEST_CASE(numbers_of_every_size_are_written_in_full) {
    line_writer out;
    out.number(0).text(" ").number(std::numeric_limits<std::uint64_t>::max()).text(" ");
    out.signed_number(-1)
        .text(" ")
        .signed_number(std::numeric_limits<std::int64_t>::min())
        .text(" ")
        .hexadecimal(0xbeef);
    BOOST_TEST(out.c_str() == "0 18446744073709551615 -1 -9223372036854775808 0xbeef");
}

// A tenant's name may hold what clears a screen or begins a line that looks like ours.
BOOST_AUTO_TEST_CASE(a_name_cannot_upset_a_terminal_or_begin_a_line) {
    line_writer out;
    out.name("/a\nallot: b\x1b[2J\x7f.\xc3\xa9%s");
    BOOST_TEST(out.c_str() == "/a?allot: b?[2J?.\xc3\xa9%s");
}

BOOST_AUTO_TEST_CASE(a_line_that_is_too_long_is_cut_and_says_so) {
    line_writer out;
    for (int i = 0; i < 200; ++i) out.text("0123456789");
    std::string text = out.c_str();
    BOOST_TEST(text.size() == out.length());
    BOOST_TEST(text.size() < line_writer::capacity);
    BOOST_TEST(text.substr(text.size() - 3) == "...");
}

BOOST_AUTO_TEST_CASE(a_line_is_one_write_with_its_newline) {
    int ends[2];
    BOOST_TEST_REQUIRE(pipe(ends) == 0);
    line_writer out;
    out.text("a line").write(ends[1]);
    char got[32];
    ssize_t length = read(ends[0], got, sizeof got);
    BOOST_TEST(std::string(got, static_cast<std::size_t>(length)) == "a line\n");
    close(ends[0]);
    close(ends[1]);
}
