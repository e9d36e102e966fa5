#include "tools/child_tree.hpp"

#include "tools/errors.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace allot {
namespace {

// All signals but those that stop this process (it stops and goes on with the command, as a shell's job does) and those
// of its own faults.
sigset_t passed_on() {
    sigset_t set;
    sigfillset(&set);
    for (int s : {SIGTSTP, SIGTTIN, SIGTTOU, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        sigdelset(&set, s);
    return set;
}

// While it lives, those signals wait to be fetched, and children are kept until they are waited for.
class fetched_signals {
public:
    fetched_signals() : set_(passed_on()) {
        sigprocmask(SIG_BLOCK, &set_, &before_);
        struct sigaction fresh {};
        fresh.sa_handler = SIG_DFL;
        sigaction(SIGCHLD, &fresh, &child_before_);
    }
    ~fetched_signals() { restore(); }
    fetched_signals(const fetched_signals &) = delete;
    fetched_signals &operator=(const fetched_signals &) = delete;

    siginfo_t next() const {
        siginfo_t info{};
        while (sigwaitinfo(&set_, &info) < 0) {}
        return info;
    }
    // Also by the child before it becomes the command.
    void restore() const {
        sigaction(SIGCHLD, &child_before_, nullptr);
        sigprocmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t set_;
    sigset_t before_;
    struct sigaction child_before_;
};

std::vector<char *> pointers_to(const std::vector<std::string> &texts) {
    std::vector<char *> pointers;
    for (const std::string &text : texts) pointers.push_back(const_cast<char *>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

// Starts the command; its id, and in `error` why exec failed (0: it did not).
pid_t start(const std::vector<std::string> &command, const std::vector<std::string> &environment,
            const fetched_signals &signals, int &error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw failure(fmt::format("no pipe: {}", strerror(errno)));
    const std::vector<char *> argv = pointers_to(command);
    const std::vector<char *> envp = pointers_to(environment);
    const pid_t child = fork();
    if (child < 0) throw failure(fmt::format("no process: {}", strerror(errno)));
    if (child == 0) {
        signals.restore();
        execvpe(argv[0], argv.data(), envp.data());
        const int why = errno;
        if (write(ends[1], &why, sizeof why) != sizeof why) _exit(exit_failed);
        _exit(exit_cannot_run);
    }
    close(ends[1]);
    // The pipe closes when exec succeeds: nothing is read then.
    error = 0;
    ssize_t n = 0;
    do n = read(ends[0], &error, sizeof error);
    while (n < 0 && errno == EINTR);
    close(ends[0]);
    return child;
}

// Passes a signal on to the command, or once that is gone, to what is left of its tree and was given to us.
void pass_on(int signal, pid_t command_pid) {
    if (command_pid != 0) {
        kill(command_pid, signal);
        return;
    }
    std::ifstream children(fmt::format("/proc/self/task/{}/children", getpid()));
    for (pid_t child = 0; children >> child;) kill(child, signal);
}

// Waits for every process that has ended by now. False: none is left.
bool wait_for_ended(pid_t &command_pid, tree_outcome &outcome) {
    while (true) {
        int status = 0;
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0) return errno != ECHILD;
        if (pid == 0) return true;
        if (pid != command_pid) continue;
        command_pid = 0;
        outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        outcome.status = WIFSIGNALED(status) ? exit_signal_base + outcome.signal : WEXITSTATUS(status);
    }
}

} // namespace

tree_outcome run_tree(const std::vector<std::string> &command, const std::vector<std::string> &environment) {
    // Refused only by kernels before 3.4; daemons of the command then go to init and are not waited for.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const fetched_signals signals;
    tree_outcome outcome;
    int error = 0;
    pid_t command_pid = start(command, environment, signals, error);
    if (error != 0) {
        waitpid(command_pid, nullptr, 0);
        outcome.status = error == ENOENT ? exit_not_found : exit_cannot_run;
        outcome.problem = fmt::format("{}: {}", command.front(), error == ENOENT ? "not found" : strerror(error));
        return outcome;
    }
    while (wait_for_ended(command_pid, outcome)) {
        const siginfo_t info = signals.next();
        // SI_KERNEL: of the terminal, to its whole foreground group, where the command is too.
        if (info.si_signo != SIGCHLD && info.si_code != SI_KERNEL) pass_on(info.si_signo, command_pid);
    }
    return outcome;
}

} // namespace allot
