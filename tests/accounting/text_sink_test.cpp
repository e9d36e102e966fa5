#define BOOST_TEST_MODULE text_sink
#include <boost/test/unit_test.hpp>

#include "accounting/text_sink.hpp"

#include <limits>
#include <string>

using namespace allot;

namespace {

struct taken {
    std::string text;
    int times = 0;
};

void take(void *state, const char *text, std::size_t length) {
    auto &to = *static_cast<taken *>(state);
    to.text.append(text, length);
    ++to.times;
}

} // namespace

BOOST_AUTO_TEST_CASE(whatever_the_buffer_everything_comes_out_in_order) {
    for (std::size_t size = 1; size <= 16; ++size) {
        char buffer[16];
        taken to;
        text_sink out(buffer, size, take, &to);
        out.text("one ").number(0).byte(' ').number(std::numeric_limits<std::uint64_t>::max()).text("");
        out.flush();
        BOOST_TEST(to.text == "one 0 18446744073709551615");
        BOOST_TEST(to.times == static_cast<int>((26 + size - 1) / size));
        out.flush();
        BOOST_TEST(to.text.size() == 26u);
    }
}

BOOST_AUTO_TEST_CASE(columns_are_filled_up_and_count_characters) {
    char buffer[64];
    taken to;
    text_sink out(buffer, sizeof buffer, take, &to);
    out.left("ab", 4).byte('|').right("ab", 4).byte('|').left("caf\xc3\xa9", 5).byte('|').right("longer", 3);
    out.flush();
    BOOST_TEST(to.text == "ab  |  ab|caf\xc3\xa9 |longer");
    BOOST_TEST(text_width("caf\xc3\xa9") == 4u);
    BOOST_TEST(text_width("") == 0u);
}
