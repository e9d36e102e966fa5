#define BOOST_TEST_MODULE run_arguments
#include <boost/test/unit_test.hpp>

#include "tools/errors.hpp"
#include "tools/run.hpp"

#include <string>
#include <vector>

using namespace allot;

namespace {

using words = std::vector<std::string>;

run_settings settings_of(const words &arguments) {
    run_settings s;
    BOOST_TEST_REQUIRE(read_run_arguments(arguments, s));
    return s;
}

std::string variables_of(const words &arguments) {
    std::string text;
    for (const auto &[name, value] : settings_of(arguments).variables) text += name + "=" + value + "\n";
    return text;
}

std::string refusal(const words &arguments) {
    run_settings s;
    try {
        (void)read_run_arguments(arguments, s);
    } catch (const usage_error &error) {
        return error.what();
    }
    return "accepted";
}

bool begins(const std::string &text, const std::string &start) { return text.compare(0, start.size(), start) == 0; }

} // namespace

BOOST_AUTO_TEST_CASE(options_become_variables_of_the_library) {
    BOOST_TEST(variables_of({"--tenant", "/a",           "--max=64M",   "--high", "50%",      "--low",
                             "1",        "--min",        "2",           "--oom",  "abort",    "--account",
                             "heap",     "--map",        "thread:a=/a", "--map",  "exe:b=/b", "--exclude",
                             "git",      "--exclude=ls", "--verbose",   "--",     "x"}) ==
               "ALLOT_TENANT=/a\nALLOT_MEMORY_MAX=64M\nALLOT_MEMORY_HIGH=50%\nALLOT_MEMORY_LOW=1\nALLOT_MEMORY_MIN=2\n"
               "ALLOT_OOM=abort\nALLOT_ACCOUNT=heap\nALLOT_MAP=thread:a=/a;exe:b=/b\nALLOT_EXCLUDE=git;ls\n"
               "ALLOT_VERBOSE=1\n");
    BOOST_TEST(variables_of({"--headroom", "64K", "--oom", "kill", "--oom-group", "--throttle", "--fail-after", "3+:/a",
                             "x"}) == "ALLOT_MEMORY_HEADROOM=64K\nALLOT_OOM=kill\nALLOT_OOM_GROUP=1\n"
                                      "ALLOT_THROTTLE=1\nALLOT_FAIL_AFTER=3+:/a\n");
    BOOST_TEST(variables_of({"x"}) == "");
}

BOOST_AUTO_TEST_CASE(from_its_first_word_on_everything_is_the_commands) {
    const auto command = [](const words &arguments) { return settings_of(arguments).command; };
    BOOST_TEST((command({"--max", "1", "--", "ls", "--max", "--"}) == words{"ls", "--max", "--"}));
    BOOST_TEST((command({"--max", "1", "ls", "--json", "-l"}) == words{"ls", "--json", "-l"}));
    BOOST_TEST((command({"ls", "--", "--max"}) == words{"ls", "--", "--max"}));
    BOOST_TEST((command({"--", "--odd"}) == words{"--odd"}));
    BOOST_TEST((command({"--report", "ls"}) == words{"ls"}));
    BOOST_TEST(!settings_of({"ls", "--json"}).json);
}

BOOST_AUTO_TEST_CASE(a_report_goes_to_stderr_unless_a_file_is_named) {
    BOOST_TEST(settings_of({"x"}).report == "");
    BOOST_TEST(settings_of({"--report", "--", "x"}).report == "stderr");
    BOOST_TEST(settings_of({"--report=r.%p", "--", "x"}).report == "r.%p");
    BOOST_TEST(settings_of({"--json", "--", "x"}).report == "stderr");
    BOOST_TEST(settings_of({"--json", "--report=r", "--", "x"}).report == "r");
}

BOOST_AUTO_TEST_CASE(wrong_input_is_told_with_the_argument_and_what_is_expected) {
    BOOST_TEST(begins(refusal({"--max", "5MB", "x"}), "--max: '5MB': KB, MB and the like"),
               refusal({"--max", "5MB", "x"}));
    BOOST_TEST(begins(refusal({"--high", "", "x"}), "--high: '': it is empty; expected bytes"),
               refusal({"--high", "", "x"}));
    BOOST_TEST(begins(refusal({"--low", "-1", "x"}), "--low: "), refusal({"--low", "-1", "x"}));
    BOOST_TEST(begins(refusal({"--min", "101%", "x"}), "--min: '101%': it is more than 100%"));
    BOOST_TEST(refusal({"--oom", "panic", "x"}) == "--oom: 'panic': expected fail or kill or abort");
    BOOST_TEST(refusal({"--account", "some", "x"}) == "--account: 'some': expected all or heap");
    BOOST_TEST(begins(refusal({"--tenant", "a", "x"}), "--tenant: 'a': expected /"));
    for (const char *bad : {"", "0", "x", "3-", "3:a", "3+a", "-1"})
        BOOST_TEST(begins(refusal({"--fail-after", bad, "x"}), "--fail-after: "), bad);
    BOOST_TEST(begins(refusal({"--map", "x=/a", "x"}), "--map: 'x=/a': a rule is thread:GLOB=PATH"));
    BOOST_TEST(begins(refusal({"--map", "thread:a=/a;exe:b=/b", "x"}), "--map: "));
    BOOST_TEST(
        begins(refusal({"--exclude", "/bin/ls", "x"}), "--exclude: '/bin/ls': a program is named by its file name"));
    BOOST_TEST(begins(refusal({"--hierarchy", "a/b", "x"}), "--hierarchy: 'a/b': expected a name"));
    BOOST_TEST(begins(refusal({"--tree", "/nowhere.toml", "x"}), "--tree: /nowhere.toml: cannot be read"));
    BOOST_TEST(refusal({"--mx", "1", "x"}) == "--mx: no such option of allot run; did you mean --max?");
    BOOST_TEST(refusal({"--max"}).find("--max") != std::string::npos);
    BOOST_TEST(begins(refusal({}), "COMMAND is missing"));
    BOOST_TEST(begins(refusal({"--max", "1", "--"}), "COMMAND is missing"));
    BOOST_TEST(begins(refusal({"--", ""}), "COMMAND is missing"));
}

BOOST_AUTO_TEST_CASE(help_is_printed_and_nothing_is_run) {
    run_settings s;
    BOOST_TEST(!read_run_arguments({"--help"}, s));
}
