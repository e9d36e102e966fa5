#define BOOST_TEST_MODULE file_text
#include <boost/test/unit_test.hpp>

#include "accounting/file_text.hpp"

#include "accounting/base/units.hpp"

#include <limits>
#include <string>

using namespace allot;

BOOST_AUTO_TEST_CASE(it_is_written_whole_where_it_fits) {
    char buffer[200];
    file_text out(buffer, sizeof buffer);
    out.line("max", 7).text("x ").signed_number(std::numeric_limits<std::int64_t>::min()).text(" ");
    out.number(std::numeric_limits<std::uint64_t>::max()).text("\n").limit_line(12).limit_line(unlimited).end();
    BOOST_TEST(buffer == std::string("max 7\nx -9223372036854775808 18446744073709551615\n12\nmax\n"));
    BOOST_TEST(out.length() == std::string(buffer).size());
}

// A reader that is told too short a length would never make its buffer large enough.
BOOST_AUTO_TEST_CASE(what_does_not_fit_is_counted_and_nothing_behind_the_buffer_is_touched) {
    for (std::size_t size = 0; size <= 12; ++size) {
        char buffer[16];
        std::string whole = "0123456789";
        for (char &c : buffer) c = '#';
        file_text out(buffer, size);
        out.text(whole.c_str()).end();
        BOOST_TEST(out.length() == 10u);
        if (size != 0) BOOST_TEST(buffer == whole.substr(0, size - 1));
        for (std::size_t i = size < 11 ? size : 11; i < sizeof buffer; ++i) BOOST_TEST(buffer[i] == '#');
    }
}

BOOST_AUTO_TEST_CASE(it_may_be_longer_than_any_line) {
    std::string buffer(100000, '#');
    file_text out(buffer.data(), buffer.size());
    for (int i = 0; i < 10000; ++i) out.number(12345).text("\n");
    out.end();
    BOOST_TEST(out.length() == 60000u);
    BOOST_TEST(buffer.substr(59990, 10) == "345\n12345\n");
}
