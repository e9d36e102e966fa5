#define BOOST_TEST_MODULE option_parser
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "accounting/options.hpp"
#include "accounting/tables.hpp"

#include <initializer_list>
#include <string>
#include <vector>

using namespace allot;

namespace {

struct parsed : options {
    option_problems problems;

    explicit parsed(std::initializer_list<const char *> entries) {
        std::vector<std::string> texts(entries.begin(), entries.end());
        std::vector<char *> pointers;
        for (std::string &text : texts) pointers.push_back(text.data());
        pointers.push_back(nullptr);
        options_parse(*this, pointers.data(), problems);
        // What was parsed must not point into an environment that is overwritten later.
        for (std::string &text : texts) text.assign(text.size(), '?');
    }
    std::string problem() const { return problems.first; }
};

} // namespace

BOOST_AUTO_TEST_CASE(each_variable_sets_its_field) {
    const parsed p{
        "ALLOT_TENANT=/web/api",     "ALLOT_MEMORY_MAX=512M", "ALLOT_MEMORY_HIGH=1.5K", "ALLOT_MEMORY_LOW=1",
        "ALLOT_MEMORY_MIN=2",        "ALLOT_OOM=abort",       "ALLOT_ACCOUNT=heap",     "ALLOT_MAP=thread:a=/a",
        "ALLOT_EXCLUDE=git;ls",      "ALLOT_TREE=/t",         "ALLOT_HIERARCHY=run-1",  "ALLOT_DIR=/dev/shm/x",
        "ALLOT_REPORT=r.%p",         "ALLOT_JSON=1",          "ALLOT_VERBOSE=1",        "ALLOT_STRICT=1",
        "ALLOT_PRELOAD_LIBRARY=l.so"};
    BOOST_TEST(p.problems.count == 0U, p.problem());
    BOOST_TEST(p.tenant == std::string("/web/api"));
    BOOST_TEST(p.memory_max.bytes == 512U << 20);
    BOOST_TEST(p.memory_max.text == std::string("512M"));
    BOOST_TEST(p.memory_high.bytes == 1536U);
    BOOST_TEST(p.memory_low.bytes == 1U);
    BOOST_TEST(p.memory_min.bytes == 2U);
    BOOST_TEST((p.oom == oom_policy::abort));
    BOOST_TEST((p.account == account_scope::heap));
    BOOST_TEST(p.nr_map == 1U);
    BOOST_TEST(p.nr_exclude == 2U);
    BOOST_TEST(p.nr_tree == 1U);
    BOOST_TEST(p.hierarchy == std::string("run-1"));
    BOOST_TEST(p.dir == std::string("/dev/shm/x"));
    BOOST_TEST((p.report == report_target::file));
    BOOST_TEST(p.report_file == std::string("r.%p"));
    BOOST_TEST(p.preload_library == std::string("l.so"));
    BOOST_TEST(p.json);
    BOOST_TEST(p.verbose);
    BOOST_TEST(p.strict);
}

// A field that is forgotten in the parser stays at its default here: loops over the table, so a new option is covered.
BOOST_AUTO_TEST_CASE(every_option_of_the_table_is_understood_in_both_spellings) {
    for (const option_descriptor &d : option_table) {
        const std::string value = *d.default_text != '\0' ? d.default_text : "";
        const std::string variable = std::string(d.variable) + "=" + value;
        const std::string conf = std::string("ALLOT_CONF=") + d.name + ":" + value;
        BOOST_TEST(parsed({variable.c_str()}).problems.count == 0U, variable);
        BOOST_TEST(parsed({conf.c_str()}).problems.count == 0U, conf);
    }
}

BOOST_AUTO_TEST_CASE(one_variable_can_hold_all) {
    const parsed p{"ALLOT_CONF=memory.max:512M,oom:abort,,tenant:/a,map:lib:x=/b"};
    BOOST_TEST(p.problems.count == 0U, p.problem());
    BOOST_TEST(p.memory_max.bytes == 512U << 20);
    BOOST_TEST((p.oom == oom_policy::abort));
    BOOST_TEST(p.tenant == std::string("/a"));
    BOOST_TEST_REQUIRE(p.nr_map == 1U);
    BOOST_TEST(p.map[0].path == std::string("/b"));
}

BOOST_AUTO_TEST_CASE(a_variable_of_its_own_wins_wherever_it_stands) {
    BOOST_TEST(parsed({"ALLOT_MEMORY_MAX=1M", "ALLOT_CONF=memory.max:2M"}).memory_max.bytes == 1U << 20);
    BOOST_TEST(parsed({"ALLOT_CONF=memory.max:2M", "ALLOT_MEMORY_MAX=1M"}).memory_max.bytes == 1U << 20);
}

BOOST_AUTO_TEST_CASE(other_peoples_variables_are_passed_over) {
    const parsed p{"PATH=/bin", "ALLOT=1", "ALLOTMENT=2", "ALLOT_", "", "=", "XALLOT_OOM=abort"};
    BOOST_TEST(p.problems.count == 0U, p.problem());
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_told_with_the_nearest_one) {
    BOOST_TEST(parsed({"ALLOT_MEMROY_MAX=1M"}).problem() ==
               "ALLOT_MEMROY_MAX: no such setting; did you mean ALLOT_MEMORY_MAX?");
    BOOST_TEST(parsed({"ALLOT_CONFIG=x"}).problem() == "ALLOT_CONFIG: no such setting; did you mean ALLOT_CONF?");
    BOOST_TEST(parsed({"ALLOT_CONF=memory_max:1M"}).problem() ==
               "ALLOT_CONF: memory_max: no such setting; did you mean memory.max?");
}

BOOST_AUTO_TEST_CASE(a_value_that_is_not_understood_leaves_the_default_and_is_told) {
    const parsed size{"ALLOT_MEMORY_MAX=5MB"};
    BOOST_TEST(size.memory_max.bytes == unlimited);
    BOOST_TEST(size.memory_max.text == nullptr);
    BOOST_TEST(size.problem().find("ALLOT_MEMORY_MAX=5MB: KB, MB and the like") == 0U, size.problem());
    BOOST_TEST(size.problem().find("; expected bytes, or a number with K, M") != std::string::npos, size.problem());
    const parsed choice{"ALLOT_OOM=panic"};
    BOOST_TEST((choice.oom == oom_policy::fail));
    BOOST_TEST(choice.problem() == "ALLOT_OOM=panic: it is none of the words; expected fail|kill|abort");
    BOOST_TEST(parsed({"ALLOT_STRICT=yes"}).problem() == "ALLOT_STRICT=yes: it is neither on nor off; expected 0 or 1");
    const parsed tenant{"ALLOT_TENANT=web"};
    BOOST_TEST(tenant.tenant == std::string("/"));
    BOOST_TEST(tenant.problems.count == 1U);
    BOOST_TEST(parsed({"ALLOT_CONF=oom"}).problem() == "ALLOT_CONF: oom=: it has no value; expected name:value");
    BOOST_TEST(parsed({"ALLOT_MAP=foo:a=/a"}).problem() ==
               "ALLOT_MAP=foo:a=/a: a rule is thread:GLOB=PATH, exe:GLOB=PATH or lib:GLOB=PATH");
}

BOOST_AUTO_TEST_CASE(failures_are_asked_for_by_number_and_perhaps_tenant) {
    const struct {
        const char *entry, *count, *path;
    } good[] = {{"ALLOT_FAIL_AFTER=3", "3", ""},
                {"ALLOT_FAIL_AFTER=3+", "3+", ""},
                {"ALLOT_FAIL_AFTER=12:/web/api", "12", "/web/api"},
                {"ALLOT_CONF=fail_after:7+:/", "7+", "/"},
                {"ALLOT_FAIL_AFTER=", "", ""}};
    for (const auto &g : good) {
        const parsed p{g.entry};
        BOOST_TEST(p.problems.count == 0U, g.entry);
        BOOST_TEST(p.fail_after == std::string(g.count), g.entry);
        BOOST_TEST(p.fail_after_path == std::string(g.path), g.entry);
    }
    for (const char *bad : {"ALLOT_FAIL_AFTER=0", "ALLOT_FAIL_AFTER=+", "ALLOT_FAIL_AFTER=3-4",
                            "ALLOT_FAIL_AFTER=3:", "ALLOT_FAIL_AFTER=3:web", "ALLOT_FAIL_AFTER=3/web",
                            "ALLOT_FAIL_AFTER=9999999999999999999"}) {
        const parsed p{bad};
        BOOST_TEST(p.problems.count == 1U, bad);
        BOOST_TEST(p.fail_after == std::string(), bad);
    }
}

BOOST_AUTO_TEST_CASE(what_a_refusal_leads_to_can_be_chosen) {
    const parsed p{"ALLOT_OOM=kill", "ALLOT_OOM_GROUP=1", "ALLOT_THROTTLE=1", "ALLOT_MEMORY_HEADROOM=64K"};
    BOOST_TEST(p.problems.count == 0U, p.problem());
    BOOST_TEST((p.oom == oom_policy::kill));
    BOOST_TEST(p.oom_group);
    BOOST_TEST(p.throttle);
    BOOST_TEST(p.memory_headroom.bytes == 64U << 10);
}

BOOST_AUTO_TEST_CASE(how_long_freed_memory_waits_and_how_much_stays_can_be_said) {
    const parsed p{"ALLOT_PURGE_DELAY_MS=250", "ALLOT_CONF=retain:64M"};
    BOOST_TEST(p.problems.count == 0U, p.problem());
    BOOST_TEST(p.purge_delay_ms == 250U);
    BOOST_TEST(p.retain.bytes == 64U << 20);
    BOOST_TEST(parsed{"ALLOT_PURGE_DELAY_MS=max"}.purge_delay_ms == unlimited);
    BOOST_TEST(parsed{"ALLOT_PURGE_DELAY_MS=0"}.purge_delay_ms == 0U);
    for (const char *bad : {"ALLOT_PURGE_DELAY_MS=", "ALLOT_PURGE_DELAY_MS=1s", "ALLOT_PURGE_DELAY_MS=-1",
                            "ALLOT_PURGE_DELAY_MS=1.5", "ALLOT_PURGE_DELAY_MS=9999999999999999999"}) {
        const parsed q{bad};
        BOOST_TEST(q.problems.count == 1U, bad);
        BOOST_TEST(q.purge_delay_ms == 1000U, bad);
    }
}

BOOST_AUTO_TEST_CASE(the_first_problem_is_told_and_the_others_are_counted) {
    const parsed p{"ALLOT_OOM=x", "ALLOT_ACCOUNT=y", "ALLOT_Z=1"};
    BOOST_TEST(p.problems.count == 3U);
    BOOST_TEST(p.problem().find("ALLOT_OOM=x") == 0U);
}

BOOST_AUTO_TEST_CASE(a_sentence_about_a_huge_value_still_ends_with_what_is_expected) {
    const std::string entry = "ALLOT_OOM=" + std::string(5000, 'x');
    const parsed p{entry.c_str()};
    BOOST_TEST(p.problem().find("...: it is none of the words; expected fail|kill|abort") != std::string::npos,
               p.problem());
}

BOOST_AUTO_TEST_CASE(a_percentage_is_of_ram_and_its_text_is_kept) {
    const parsed p{"ALLOT_MEMORY_MAX=50%"};
    BOOST_TEST(p.memory_max.bytes == os_ram_bytes() / 2);
    BOOST_TEST(p.memory_max.text == std::string("50%"));
}

BOOST_AUTO_TEST_CASE(a_report_goes_nowhere_to_stderr_or_to_a_file) {
    BOOST_TEST((parsed({"ALLOT_REPORT=off"}).report == report_target::off));
    BOOST_TEST((parsed({"ALLOT_REPORT="}).report == report_target::off));
    BOOST_TEST((parsed({"ALLOT_REPORT=stderr"}).report == report_target::standard_error));
    BOOST_TEST((parsed({"ALLOT_REPORT=1"}).report == report_target::standard_error));
    BOOST_TEST((parsed({"ALLOT_REPORT=0"}).report == report_target::off));
    BOOST_TEST((parsed({"ALLOT_REPORT=10"}).report == report_target::file));
    BOOST_TEST((parsed({"ALLOT_REPORT=stderr.txt"}).report == report_target::file));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_named_in_the_list_is_excluded) {
    BOOST_TEST(parsed({"ALLOT_EXCLUDE=git;option_parser_test"}).excluded);
    BOOST_TEST(!parsed({"ALLOT_EXCLUDE=git;option_parser"}).excluded);
    BOOST_TEST(parsed({}).executable == std::string("option_parser_test"));
}
