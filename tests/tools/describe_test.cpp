#define BOOST_TEST_MODULE describe
#include <boost/test/unit_test.hpp>

#include "accounting/tables.hpp"
#include "tools/describe.hpp"
#include "tools/errors.hpp"

#include <string>

using namespace allot;

namespace {

std::size_t lines_of(const std::string &text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

} // namespace

BOOST_AUTO_TEST_CASE(markdown_has_a_row_for_each_entry) {
    const std::string options = describe(description_format::markdown, {"options"});
    BOOST_TEST(lines_of(options) == 2U + allot_nr_options);
    BOOST_TEST(has(options, "| `memory.max` | `ALLOT_MEMORY_MAX` | `SIZE` | `max` | 0.1 | The tenant's hard limit"));
    BOOST_TEST(lines_of(describe(description_format::markdown, {"events"})) == 2U + allot_nr_events);
    BOOST_TEST(lines_of(describe(description_format::markdown, {"statistics"})) == 2U + allot_nr_stats);
}

// A bar ends a cell, in code too.
BOOST_AUTO_TEST_CASE(bars_are_escaped_in_markdown) {
    BOOST_TEST(has(describe(description_format::markdown, {"options"}), "`fail\\|kill\\|abort`"));
}

BOOST_AUTO_TEST_CASE(every_format_names_every_entry_with_its_meaning) {
    for (auto format : {description_format::text, description_format::markdown, description_format::json}) {
        const std::string all = describe(format, {});
        for (const auto &d : option_table) BOOST_TEST(has(all, d.name), d.name);
        for (const auto &d : stat_table) BOOST_TEST(has(all, d.name), d.name);
        for (const auto &d : event_table) BOOST_TEST(has(all, d.name), d.name);
        for (const char *help : option_help) BOOST_TEST(has(all, help), help);
        for (const char *help : stat_help) BOOST_TEST(has(all, help), help);
        for (const char *help : event_help) BOOST_TEST(has(all, help), help);
    }
}

BOOST_AUTO_TEST_CASE(a_table_alone_is_that_table_alone) {
    const std::string events = describe(description_format::json, {"events"});
    BOOST_TEST(has(events, "\"oom_kill\""));
    BOOST_TEST(!has(events, "\"options\""));
    BOOST_CHECK_THROW((void)describe(description_format::text, {"event"}), usage_error);
}
