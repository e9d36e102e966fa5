#define BOOST_TEST_MODULE proc
#include <boost/test/unit_test.hpp>

#include "accounting/base/proc.hpp"

#include "accounting/base/os.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

using namespace allot;

namespace {

class child {
public:
    template<class Code>
    explicit child(Code code) { // runs in it, and says when it is ready
        BOOST_TEST_REQUIRE(pipe(ends_) == 0);
        pid_ = fork();
        if (pid_ == 0) {
            close(ends_[0]);
            code([this] { (void)!write(ends_[1], "", 1); });
            for (;;) pause();
        }
        char byte;
        BOOST_TEST_REQUIRE(read(ends_[0], &byte, 1) == 1);
    }
    ~child() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        for (int end : ends_) close(end);
    }
    child(const child &) = delete;
    child &operator=(const child &) = delete;

    void become(int signal, int how) const { // and wait until it is
        kill(pid_, signal);
        siginfo_t info;
        waitid(P_PID, static_cast<id_t>(pid_), &info, how | WNOWAIT);
    }
    std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    proc_stat stat() const { return proc_stat_of(pid()); }

private:
    int ends_[2];
    pid_t pid_;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_fields_are_those_of_the_manual) {
    std::ifstream stat("/proc/self/stat");
    std::string words[28];
    for (std::string &word : words) stat >> word;
    const proc_stat is = proc_stat_of(os_pid());
    BOOST_TEST(is.state == 'R');
    BOOST_TEST(is.parent == std::stoull(words[3]));
    BOOST_TEST(is.nr_threads == std::stoull(words[19]));
    BOOST_TEST(is.start_time == std::stoull(words[21]));
    BOOST_TEST(is.start_of_stack == std::stoull(words[27]));
    BOOST_TEST(proc_stat_of_thread(os_pid(), os_pid()).start_time == is.start_time);
}

BOOST_AUTO_TEST_CASE(a_process_runs_is_stopped_and_ends) {
    const child c([](auto ready) { ready(); });
    const std::uint64_t start = c.stat().start_time;
    BOOST_TEST(start > 0u);
    BOOST_TEST(c.stat().parent == os_pid());
    BOOST_TEST(!is_stopped(c.stat()));
    BOOST_TEST(!has_ended(c.stat()));
    c.become(SIGSTOP, WSTOPPED);
    BOOST_TEST(is_stopped(c.stat()));
    BOOST_TEST(is_stopped(proc_stat_of_thread(c.pid(), c.pid())));
    BOOST_TEST(!has_ended(c.stat()));
    c.become(SIGKILL, WEXITED); // dead, not yet waited for
    BOOST_TEST(has_ended(c.stat()));
    BOOST_TEST(c.stat().start_time == start);
    waitpid(static_cast<pid_t>(c.pid()), nullptr, 0);
    BOOST_TEST(c.stat().state == '\0');
    BOOST_TEST(c.stat().start_time == 0u);
}

BOOST_AUTO_TEST_CASE(a_name_cannot_pretend_to_be_a_state) {
    const child c([](auto ready) {
        prctl(PR_SET_NAME, "x) Z 1 (");
        ready();
    });
    BOOST_TEST(!has_ended(c.stat()));
    BOOST_TEST(c.stat().parent == os_pid());
}

BOOST_AUTO_TEST_CASE(a_process_whose_first_thread_has_ended_lives) {
    const child c([](auto ready) {
        pthread_t other;
        pthread_create(
            &other, nullptr,
            [](void *) -> void * {
                for (;;) pause();
            },
            nullptr);
        ready();
        syscall(SYS_exit, 0); // of this thread alone
    });
    for (int ms = 0; ms < 10000 && c.stat().state != 'Z'; ++ms) usleep(1000);
    BOOST_TEST(c.stat().state == 'Z');
    BOOST_TEST(c.stat().nr_threads >= 2u); // a sanitizer has threads of its own
    BOOST_TEST(!has_ended(c.stat()));
}

BOOST_AUTO_TEST_CASE(the_pid_namespace_is_the_inode_of_its_file) {
    struct stat s;
    BOOST_TEST_REQUIRE(stat("/proc/self/ns/pid", &s) == 0);
    BOOST_TEST(proc_pid_namespace() == s.st_ino);
}

BOOST_AUTO_TEST_CASE(the_executable_is_cut_to_fit) {
    char path[256];
    BOOST_TEST(std::string(proc_executable(path, sizeof path)) == "base_proc_test");
    BOOST_TEST(path[0] == '/');
    char tiny[4];
    proc_executable(tiny, sizeof tiny);
    BOOST_TEST(std::string(tiny) == std::string(path, 3));
}
