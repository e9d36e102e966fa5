// What options_get() says and when it aborts can be seen only from outside: each case runs in a child of its own, whose
// environment and standard error are the test's.
#define BOOST_TEST_MODULE options
#include <boost/test/unit_test.hpp>

#include "accounting/options.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {

struct outcome {
    std::string said;
    int status;
};

// Runs `body` in a child with that environment and gives back what it wrote to standard error.
template<typename Body>
outcome in_child(std::initializer_list<const char *> entries, Body body) {
    int ends[2];
    BOOST_TEST_REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); // the test framework catches it otherwise
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        std::vector<char *> environment;
        for (const char *entry : entries) environment.push_back(const_cast<char *>(entry));
        environment.push_back(nullptr);
        options_set_environment(environment.data());
        _exit(body());
    }
    close(ends[1]);
    outcome o{};
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        o.said.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    waitpid(child, &o.status, 0);
    return o;
}

int just_get() {
    (void)options_get();
    return 0;
}

bool exited(const outcome &o, int code) { return WIFEXITED(o.status) && WEXITSTATUS(o.status) == code; }

} // namespace

BOOST_AUTO_TEST_CASE(nothing_is_said_unless_asked) {
    const outcome o = in_child({"ALLOT_MEMORY_MAX=64M", "PATH=/bin"}, [] {
        errno = 77;
        return options_get().memory_max.bytes == 64U << 20 && errno == 77 ? 0 : 1;
    });
    BOOST_TEST(exited(o, 0));
    BOOST_TEST(o.said == "");
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_told_in_one_line_once) {
    const outcome o = in_child({"ALLOT_MEMROY_MAX=1M", "ALLOT_OOM=x"}, [] {
        just_get();
        return just_get();
    });
    BOOST_TEST(exited(o, 0));
    BOOST_TEST(o.said ==
               "allot: ALLOT_MEMROY_MAX: no such setting; did you mean ALLOT_MEMORY_MAX? (and 1 more); ignored\n");
}

BOOST_AUTO_TEST_CASE(strict_aborts_wherever_it_stands) {
    const outcome o = in_child({"ALLOT_MEMORY_MAX=5MB", "ALLOT_CONF=strict:1"}, just_get);
    BOOST_TEST(WIFSIGNALED(o.status));
    BOOST_TEST(WTERMSIG(o.status) == SIGABRT);
    BOOST_TEST(o.said.find("strict is set: aborting\n") != std::string::npos, o.said);
}

BOOST_AUTO_TEST_CASE(verbose_prints_one_banner) {
    const outcome o = in_child({"ALLOT_VERBOSE=1", "ALLOT_TENANT=/web", "ALLOT_MEMORY_MAX=64M"}, just_get);
    BOOST_TEST(o.said.find("in tenant /web: max 64M, high max, low 0, min 0, malloc and mappings are charged, "
                           "a refusal fails\n") != std::string::npos,
               o.said);
    BOOST_TEST(o.said.find("allot: pid ") == 0U);
    const outcome passive = in_child({"ALLOT_VERBOSE=1", "ALLOT_EXCLUDE=options_test"}, just_get);
    BOOST_TEST(passive.said.find("excluded, nothing is counted or limited\n") != std::string::npos, passive.said);
}

BOOST_AUTO_TEST_CASE(threads_that_come_first_together_see_one_result) {
    const outcome o = in_child({"ALLOT_MEMORY_MAX=64M", "ALLOT_X=1"}, [] {
        std::vector<std::thread> threads;
        std::vector<int> right(8, 0);
        for (int &r : right) threads.emplace_back([&r] { r = options_get().memory_max.bytes == 64U << 20; });
        for (std::thread &t : threads) t.join();
        for (int r : right)
            if (r == 0) return 1;
        return 0;
    });
    BOOST_TEST(exited(o, 0));
    BOOST_TEST(o.said.find("allot: ") == o.said.rfind("allot: "), o.said);
}

BOOST_AUTO_TEST_CASE(a_file_name_can_carry_the_process_id) {
    char out[64];
    expand_file_name("report.%p.json", out, sizeof out);
    BOOST_TEST(std::string(out) == "report." + std::to_string(getpid()) + ".json");
    expand_file_name("100%%p%q%", out, sizeof out);
    BOOST_TEST(std::string(out) == "100%p%q%");
    expand_file_name("abcdef", out, 4);
    BOOST_TEST(std::string(out) == "abc");
}
