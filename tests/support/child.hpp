// Children of this process, for tests of forks and of what ends a program.
//
// A child never returns into the test framework: it leaves with what its body returned, and what it wrote to stderr is
// read through a pipe.
#pragma once

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

struct child_end {
    int status; // of waitpid
    std::string text;

    bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
    bool aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
};

// By fork, or by another call that makes a child with memory of its own.
template<typename Body>
child_end in_child(Body body, pid_t (*spawn)() = fork) {
    int ends[2];
    BOOST_TEST_REQUIRE(pipe(ends) == 0);
    pid_t child = spawn();
    BOOST_TEST_REQUIRE(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        signal(SIGABRT, SIG_DFL); // the framework's handlers are for itself
        signal(SIGSEGV, SIG_DFL);
        alarm(60);
        _exit(body());
    }
    close(ends[1]);
    child_end end{};
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        end.text.append(buffer, static_cast<std::size_t>(got));
    close(ends[0]);
    BOOST_TEST_REQUIRE(waitpid(child, &end.status, 0) == child);
    return end;
}
