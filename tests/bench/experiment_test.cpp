// The options of an experiment are read as they are written, and told in its JSON.
#define BOOST_TEST_MODULE experiment
#include <boost/test/unit_test.hpp>

#include "bench/experiment.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace allot::bench;

namespace {

struct settings {
    std::uint64_t pairs = 1, window = 128;
    double cross = 0.5, seconds = 1;
    std::string variant = "allot";
    bool is_protected = false, json = false;

    [[nodiscard]] options declare() {
        options o;
        o.number("--pairs", pairs);
        o.number("--window-pages", window, 3);
        o.real("--cross", cross, 0, 1);
        o.word("--variant", variant, {"allot", "null"});
        o.flag("--protected", is_protected);
        o.real("--seconds", seconds, 0.001, 3600);
        o.flag("--json", json);
        return o;
    }
};

void parse(const options &o, std::vector<std::string> words) {
    std::vector<char *> pointers{const_cast<char *>("bench")};
    for (std::string &word : words) pointers.push_back(word.data());
    o.parse(static_cast<int>(pointers.size()), pointers.data());
}

// The status with which a wrong option ends the program.
int status_of(const std::vector<std::string> &words) {
    const pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO); // and what Boost has not written yet
        close(STDOUT_FILENO);
        settings s;
        parse(s.declare(), words);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

} // namespace

BOOST_AUTO_TEST_CASE(options_are_read_and_those_that_are_not_given_stay_as_they_are) {
    settings s;
    parse(s.declare(), {"--pairs", "4K", "--cross", "1", "--protected", "--variant", "null"});
    BOOST_TEST(s.pairs == 4096u);
    BOOST_TEST(s.cross == 1.0);
    BOOST_TEST(s.is_protected);
    BOOST_TEST(!s.json);
    BOOST_TEST(s.variant == "null");
    BOOST_TEST(s.window == 128u);
}

BOOST_AUTO_TEST_CASE(a_wrong_option_ends_the_program_with_2) {
    BOOST_TEST(status_of({"--pairs", "2"}) == 0);
    for (const std::vector<std::string> &words : std::vector<std::vector<std::string>>{{"--pears", "2"},
                                                                                       {"--pairs"},
                                                                                       {"--pairs", "0"},
                                                                                       {"--pairs", "-1"},
                                                                                       {"--pairs", "2X"},
                                                                                       {"--pairs", "2KK"},
                                                                                       {"--pairs", "99999999999G"},
                                                                                       {"--window-pages", "2"},
                                                                                       {"--cross", "1.1"},
                                                                                       {"--cross", ""},
                                                                                       {"--cross", "x"},
                                                                                       {"--variant", "linux"},
                                                                                       {"4"}})
        BOOST_TEST(status_of(words) == 2, words[0] << " " << words.back());
}

BOOST_AUTO_TEST_CASE(json_tells_what_was_measured_and_what_came_out) {
    settings s;
    const options o = s.declare();
    parse(o, {"--pairs", "36", "--json", "--seconds", "9"});
    const outcome r{.seconds = 0.5, .cpu_seconds = 1, .operations = 1000, .counted = {{"shared", 7}, {"walks", 0}}};
    const auto told = nlohmann::json::parse(json_of("pages", o, r));
    BOOST_TEST(told["bench"] == "pages");
    BOOST_TEST(told["pairs"] == 36);
    BOOST_TEST(told["window_pages"] == 128);
    BOOST_TEST(told["cross"] == 0.5);
    BOOST_TEST(told["protected"] == false);
    BOOST_TEST(told["seconds"] == 0.5); // that it took, not that were asked for
    BOOST_TEST(told["operations"] == 1000);
    BOOST_TEST(told["operations_per_second"] == 2000.0);
    BOOST_TEST(told["counts"]["shared"] == 7);
    BOOST_TEST(told["counts"].size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_engines_counts_go_by_their_names_with_their_sum) {
    allot::memcg::tally t;
    t.usage = 3;
    t.protection = 4;
    t.walks = 5;
    const counts all = counts_of(t);
    BOOST_TEST(count_named(all, "usage") == 3u);
    BOOST_TEST(count_named(all, "walks") == 5u);
    BOOST_TEST(count_named(all, "shared") == 7u);
    BOOST_TEST(count_named(all, "unknown") == 0u);
}
