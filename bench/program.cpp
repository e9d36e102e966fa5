// program NAME -- COMMAND...: runs another program again and again and reports the processor time and the peak memory of
// one run. Claim: real programs, whose allocations come in their own mix, gain or at least lose nothing.
//
// The library under test comes in ALLOT_BENCH_PRELOAD and becomes the program's LD_PRELOAD, so that this runner, which is
// small, stays out of it: what wait4 calls peak memory begins with what the caller of exec had.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string &what) {
    std::fprintf(stderr, "program: %s\n", what.c_str());
    std::exit(2);
}

struct cost {
    double ns;
    long peak_kib;
};

double ns_of(const timeval &t) { return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3; }

cost run_once(char **command) {
    const pid_t pid = fork();
    if (pid < 0) fail("fork failed");
    if (pid == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        if (const char *preload = std::getenv("ALLOT_BENCH_PRELOAD"); preload != nullptr && *preload != '\0')
            setenv("LD_PRELOAD", preload, 1);
        execvp(command[0], command);
        _exit(127);
    }
    int status;
    rusage usage;
    if (wait4(pid, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail(std::string{command[0]} + ": it did not end with status 0");
    return {ns_of(usage.ru_utime) + ns_of(usage.ru_stime), usage.ru_maxrss};
}

} // namespace

int main(int argc, char **argv) {
    double seconds = 0.3;
    int at = 2;
    if (at + 1 < argc && std::strcmp(argv[at], "--seconds") == 0) {
        seconds = std::strtod(argv[at + 1], nullptr);
        at += 2;
    }
    if (at + 1 >= argc || std::strcmp(argv[at], "--") != 0 || !(seconds > 0))
        fail("usage: program NAME [--seconds S] -- COMMAND...");
    run_once(argv + at + 1); // the first run reads the files
    std::vector<double> ns;
    long peak_kib = 0;
    for (double total = 0; total < seconds * 1e9 && ns.size() < 64; total += ns.back()) {
        const cost c = run_once(argv + at + 1);
        ns.push_back(c.ns);
        peak_kib = std::max(peak_kib, c.peak_kib);
    }
    std::sort(ns.begin(), ns.end());
    std::printf("programs/%s %.5g ns best %.5g peak_rss %ld malloc %s\n", argv[1], ns[ns.size() / 2], ns.front(),
                peak_kib * 1024,
                std::getenv("ALLOT_BENCH_PRELOAD") != nullptr ? std::getenv("ALLOT_BENCH_PRELOAD") : "");
    return 0;
}
