// What a piece of code that ends its process says, and how it ends: run in a child.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

struct death {
    int signal = 0; // 0: it ended by itself, with `status`
    int status = 0;
    std::string message; // what it wrote to stderr
};

template<class Code>
death death_of(Code code) {
    int ends[2];
    if (pipe(ends) != 0) return {};
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        signal(SIGABRT, SIG_DFL); // the test framework catches it
        code();
        _exit(0);
    }
    close(ends[1]);
    death d;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        d.message.append(buffer, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    d.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    d.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return d;
}
