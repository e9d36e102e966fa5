#define BOOST_TEST_MODULE tables
#include <boost/test/unit_test.hpp>

#include "accounting/options.hpp"
#include "accounting/sizes.hpp"
#include "accounting/tables.hpp"

#include <iterator>
#include <string>
#include <vector>

using namespace allot;

namespace {

template<typename Table>
std::vector<std::string> names_of(const Table &table) {
    std::vector<std::string> names;
    for (const auto &d : table) names.emplace_back(d.name);
    return names;
}

// The golden lists: a number is in regions and in other people's programs, so that an entry never moves.
const std::vector<std::string> stat_names = {
    "slab",  "objects",  "stock",    "external",  "large",     "forced",         "headroom",  "injected",   "requested",
    "cache", "overhead", "resident", "reclaimed", "throttled", "throttled_usec", "anomalies", "unavailable"};
const std::vector<std::string> event_names = {"low", "high", "max", "oom", "oom_kill", "oom_group_kill"};
const std::vector<std::string> option_names = {
    "tenant",    "memory.max", "memory.high", "memory.low", "memory.min",      "oom",
    "account",   "map",        "exclude",     "tree",       "hierarchy",       "dir",
    "report",    "json",       "verbose",     "strict",     "preload_library", "memory.headroom",
    "oom_group", "throttle",   "fail_after",  "requested",  "trace",           "purge_delay_ms",
    "retain"};

bool is_well_formed(const std::string &name) {
    return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.") == std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(entries_keep_their_numbers) {
    BOOST_TEST(names_of(stat_table) == stat_names, boost::test_tools::per_element());
    BOOST_TEST(names_of(event_table) == event_names, boost::test_tools::per_element());
    BOOST_TEST(names_of(option_table) == option_names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_enumerator_is_the_index_of_its_descriptor) {
    BOOST_TEST(std::size(stat_table) == std::size_t{allot_nr_stats});
    BOOST_TEST(std::size(event_table) == std::size_t{allot_nr_events});
    BOOST_TEST(std::size(option_table) == std::size_t{allot_nr_options});
    BOOST_TEST(stat_table[allot_stat_large].name == std::string("large"));
    BOOST_TEST(event_table[allot_event_oom_group_kill].name == std::string("oom_group_kill"));
    BOOST_TEST(option_table[allot_option_memory_max].name == std::string("memory.max"));
}

BOOST_AUTO_TEST_CASE(an_entry_is_found_by_its_name_and_nothing_else_is) {
    BOOST_TEST(find_stat("stock") == std::uint32_t{allot_stat_stock});
    BOOST_TEST(find_stat("stoc") == std::uint32_t{allot_nr_stats});
    BOOST_TEST(find_event("oom_kill") == std::uint32_t{allot_event_oom_kill});
    BOOST_TEST(find_event("oom_killed") == std::uint32_t{allot_nr_events});
    BOOST_TEST(find_option("memory.min") == std::uint32_t{allot_option_memory_min});
    BOOST_TEST(find_option("") == std::uint32_t{allot_nr_options});
}

BOOST_AUTO_TEST_CASE(a_variable_is_the_name_in_capitals) {
    BOOST_TEST(option_table[allot_option_memory_max].variable == std::string("ALLOT_MEMORY_MAX"));
    BOOST_TEST(option_table[allot_option_preload_library].variable == std::string("ALLOT_PRELOAD_LIBRARY"));
}

BOOST_AUTO_TEST_CASE(names_are_words_in_small_letters) {
    for (const auto &d : stat_table) BOOST_TEST(is_well_formed(d.name), d.name);
    for (const auto &d : event_table) BOOST_TEST(is_well_formed(d.name), d.name);
    for (const auto &d : option_table) BOOST_TEST(is_well_formed(d.name), d.name);
}

BOOST_AUTO_TEST_CASE(a_word_of_a_choice_is_found_whole) {
    static_assert(detail::is_word_of("fail", "fail|abort"));
    static_assert(detail::is_word_of("abort", "fail|abort"));
    static_assert(!detail::is_word_of("abor", "fail|abort"));
    static_assert(!detail::is_word_of("fail|abort", "fail|aborted"));
    static_assert(!detail::is_word_of("kill", "fail|abort"));
    BOOST_TEST(detail::is_word_of("b", "a|b"));
}

// The defaults stand in options.def for people and in struct options for the code.
BOOST_AUTO_TEST_CASE(the_defaults_of_the_table_are_those_of_the_struct) {
    const options o;
    const auto default_of = [](allot_option id) { return size_parse(option_table[id].default_text, 0).bytes; };
    BOOST_TEST(o.tenant == std::string(option_table[allot_option_tenant].default_text));
    BOOST_TEST(o.memory_max.bytes == default_of(allot_option_memory_max));
    BOOST_TEST(o.memory_high.bytes == default_of(allot_option_memory_high));
    BOOST_TEST(o.memory_low.bytes == default_of(allot_option_memory_low));
    BOOST_TEST(o.memory_min.bytes == default_of(allot_option_memory_min));
    BOOST_TEST(o.memory_headroom.bytes == default_of(allot_option_memory_headroom));
    BOOST_TEST(o.retain.bytes == default_of(allot_option_retain));
    BOOST_TEST(o.purge_delay_ms == default_of(allot_option_purge_delay_ms));
    BOOST_TEST(((o.oom == oom_policy::fail) == (option_table[allot_option_oom].default_text == std::string("fail"))));
    BOOST_TEST(
        ((o.account == account_scope::all) == (option_table[allot_option_account].default_text == std::string("all"))));
    BOOST_TEST(((o.requested == request_count::sampled) ==
                (option_table[allot_option_requested].default_text == std::string("sampled"))));
    BOOST_TEST(
        ((o.report == report_target::off) == (option_table[allot_option_report].default_text == std::string("off"))));
    for (const char *text :
         {o.hierarchy, o.dir, o.report_file, o.preload_library, o.fail_after, o.fail_after_path, o.trace})
        BOOST_TEST(text == std::string());
    for (const bool on : {o.json, o.verbose, o.strict, o.oom_group, o.throttle, o.excluded, o.secure}) BOOST_TEST(!on);
}
