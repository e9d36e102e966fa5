#define BOOST_TEST_MODULE child_tree
#include <boost/test/unit_test.hpp>

#include "tools/child_tree.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot;

namespace {

tree_outcome shell(const std::string &script) { return run_tree({"sh", "-c", script}, {"PATH=/usr/bin:/bin"}); }

} // namespace

BOOST_AUTO_TEST_CASE(the_status_is_the_commands_own) {
    BOOST_TEST(shell("exit 0").status == 0);
    BOOST_TEST(shell("exit 42").status == 42);
    BOOST_TEST(shell("exit 42").problem == "");
}

BOOST_AUTO_TEST_CASE(a_signal_is_128_and_its_number) {
    const tree_outcome o = shell("kill -9 $$");
    BOOST_TEST(o.status == 137);
    BOOST_TEST(o.signal == 9);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_run_is_told_from_what_is_not_found) {
    const tree_outcome missing = run_tree({"no-such-program-anywhere"}, {});
    BOOST_TEST(missing.status == 127);
    BOOST_TEST(missing.problem == "no-such-program-anywhere: not found");
    const tree_outcome forbidden = run_tree({"/etc/passwd"}, {});
    BOOST_TEST(forbidden.status == 126);
    BOOST_TEST(forbidden.problem == "/etc/passwd: Permission denied");
}

BOOST_AUTO_TEST_CASE(the_environment_is_the_one_that_was_given) {
    BOOST_TEST(run_tree({"/bin/sh", "-c", "test \"$ONE\" = 1 && test -z \"$HOME\""}, {"ONE=1"}).status == 0);
}

// A daemon leaves its parent; as the parent of orphans we see its end.
BOOST_AUTO_TEST_CASE(the_whole_tree_is_waited_for_and_the_status_stays_the_commands) {
    std::string name = std::filesystem::temp_directory_path() / "allot-tree-XXXXXX";
    const std::filesystem::path folder = mkdtemp(name.data());
    const std::string mark = folder / "done";
    const tree_outcome o = shell("(setsid sh -c 'sleep 0.3; echo x >" + mark + "' &) ; exit 7");
    BOOST_TEST(o.status == 7);
    BOOST_TEST(std::filesystem::exists(mark));
    std::filesystem::remove_all(folder);
}

// The process that runs the tree is sent the signal, as by `kill`, once the command says that it listens.
BOOST_AUTO_TEST_CASE(signals_are_passed_on) {
    int ends[2];
    BOOST_TEST_REQUIRE(pipe(ends) == 0);
    const pid_t parent = fork();
    if (parent == 0) {
        dup2(ends[1], STDOUT_FILENO);
        _exit(shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done").status);
    }
    char ready[6];
    BOOST_TEST_REQUIRE(read(ends[0], ready, sizeof ready) == 6);
    kill(parent, SIGTERM);
    int status = 0;
    waitpid(parent, &status, 0);
    BOOST_TEST(WIFEXITED(status));
    BOOST_TEST(WEXITSTATUS(status) == 9);
    close(ends[0]);
    close(ends[1]);
}

BOOST_AUTO_TEST_CASE(the_signal_mask_is_restored_for_both) {
    sigset_t before, after;
    sigprocmask(SIG_SETMASK, nullptr, &before);
    // A shell whose TERM were blocked would outlive this.
    BOOST_TEST(shell("kill -TERM $$; exit 0").status == 128 + SIGTERM);
    sigprocmask(SIG_SETMASK, nullptr, &after);
    for (int s = 1; s < SIGRTMAX; ++s) BOOST_TEST(sigismember(&before, s) == sigismember(&after, s));
}
