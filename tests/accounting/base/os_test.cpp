#define BOOST_TEST_MODULE os
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

using namespace allot;

BOOST_AUTO_TEST_CASE(a_failing_call_returns_its_error_and_leaves_errno_alone) {
    errno = 4711;
    BOOST_TEST(os_call(SYS_close, -1) == -EBADF);
    BOOST_TEST(os_open("/does/not/exist", O_RDONLY) == -ENOENT);
    BOOST_TEST(errno == 4711);
}

BOOST_AUTO_TEST_CASE(memory_is_mapped_where_it_is_asked_for_and_not_over_what_is_there) {
    std::uintptr_t place = os_reserve(1 << 20);
    BOOST_TEST_REQUIRE(place != 0u);
    BOOST_TEST(!os_map_free(place, 65536));
    BOOST_TEST(os_map_over(place, 65536));
    std::memset(reinterpret_cast<void *>(place), 1, 65536);
    BOOST_TEST(os_give_back(place, 65536));
    BOOST_TEST(*reinterpret_cast<char *>(place) == 0);
    os_unmap(place, 1 << 20);
    BOOST_TEST(os_map_free(place, 65536));
    os_unmap(place, 65536);
}

BOOST_AUTO_TEST_CASE(a_regular_file_is_told_by_its_size_and_mapped_where_there_is_room) {
    char name[] = "/tmp/allot-os-test-XXXXXX";
    int fd = mkstemp(name);
    BOOST_TEST_REQUIRE(fd >= 0);
    BOOST_TEST(os_regular_file_bytes(fd) == 0);
    BOOST_TEST(os_allocate_file_space(fd, 0, 65536));
    BOOST_TEST(os_regular_file_bytes(fd) == 65536);
    BOOST_TEST(os_clear_file_space(fd, 65536, 65536));
    BOOST_TEST(os_regular_file_bytes(fd) == 131072);
    std::uintptr_t place = os_map_file_anywhere(65536, fd, 65536);
    BOOST_TEST_REQUIRE(place != 0u);
    std::strcpy(reinterpret_cast<char *>(place), "hello");
    char got[6] = {};
    BOOST_TEST(os_read_at(fd, got, 6, 65536) == 6);
    BOOST_TEST(got == "hello");
    os_unmap(place, 65536);
    os_close(fd);
    os_remove_file(name);
    int null = os_open("/dev/null", O_RDWR);
    BOOST_TEST(os_regular_file_bytes(null) == -1);
    BOOST_TEST(!os_clear_file_space(null, 0, 4096));
    os_close(null);
    BOOST_TEST(os_regular_file_bytes(-1) == -1);
}

// SIGXFSZ would end the program that only wanted to keep its books.
BOOST_AUTO_TEST_CASE(a_file_beyond_the_size_limit_is_refused_without_a_signal) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_DFL);
        rlimit small{4096, 4096};
        setrlimit(RLIMIT_FSIZE, &small);
        char name[] = "/tmp/allot-os-test-XXXXXX";
        int fd = mkstemp(name);
        unlink(name);
        _exit(os_allocate_file_space(fd, 0, 65536) || os_clear_file_space(fd, 0, 65536) ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

BOOST_AUTO_TEST_CASE(threads_and_children_have_ids_of_their_own) {
    std::uint32_t main_id = os_tid();
    BOOST_TEST(main_id == static_cast<std::uint32_t>(syscall(SYS_gettid)));
    std::thread([&] { BOOST_TEST(os_tid() != main_id); }).join();
    pid_t child = fork();
    if (child == 0) {
        os_child_start();
        _exit(os_tid() == static_cast<std::uint32_t>(getpid()) && os_pid() == static_cast<std::uint32_t>(getpid()) ? 0
                                                                                                                   : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(WEXITSTATUS(status) == 0);
}

namespace {
volatile sig_atomic_t handled = 0;
}

BOOST_AUTO_TEST_CASE(no_handler_runs_while_signals_are_blocked) {
    signal(SIGUSR1, [](int) { handled = handled + 1; });
    {
        signals_blocked quiet;
        { signals_blocked inner; }
        raise(SIGUSR1);
        BOOST_TEST(handled == 0);
    }
    while (handled == 0) usleep(1000); // the thread sanitizer calls handlers late
    BOOST_TEST(handled == 1);
}

BOOST_AUTO_TEST_CASE(a_small_file_is_read_whole_or_cut_and_terminated) {
    char text[4096];
    BOOST_TEST(os_read_whole("/proc/self/stat", text, sizeof text) > 10);
    BOOST_TEST(std::strtol(text, nullptr, 10) == getpid());
    char tiny[4];
    BOOST_TEST(os_read_whole("/proc/self/stat", tiny, sizeof tiny) == 3);
    BOOST_TEST(tiny[3] == '\0');
    BOOST_TEST(os_read_whole("/does/not/exist", text, sizeof text) == -ENOENT);
}

BOOST_AUTO_TEST_CASE(a_waiter_returns_when_woken_and_when_the_word_differs) {
    std::atomic<std::uint32_t> word{1};
    os_futex_wait(&word, 0);    // differs: at once
    os_futex_wait(&word, 1, 1); // nobody wakes: after a millisecond
    std::thread waker([&] {
        word = 2;
        os_futex_wake(&word, 1);
    });
    while (word == 1) os_futex_wait(&word, 1);
    waker.join();
    BOOST_TEST(word == 2u);
}

BOOST_AUTO_TEST_CASE(the_barrier_obeys_its_mode) {
    membarrier_mode mode = os_membarrier_start();
    BOOST_TEST(!os_membarrier(membarrier_mode::unavailable));
    BOOST_TEST(os_membarrier(membarrier_mode::pretended));
    BOOST_TEST(os_membarrier(mode) == (mode == membarrier_mode::private_expedited));
    BOOST_TEST((os_membarrier_mode() == mode));
}

BOOST_AUTO_TEST_CASE(figures_of_the_system_are_plausible) {
    BOOST_TEST(os_ram_bytes() > (std::uint64_t{1} << 26));
    std::uint64_t before = os_nanoseconds();
    os_yield();
    BOOST_TEST(os_nanoseconds() >= before);
    BOOST_TEST(os_random() != os_random());
}

BOOST_AUTO_TEST_CASE(a_quiet_write_raises_no_signal_and_takes_none_that_was_waiting) {
    int ends[2];
    BOOST_TEST_REQUIRE(pipe(ends) == 0);
    os_write_quietly(ends[1], "ab", 2);
    char text[3] = {};
    BOOST_TEST(read(ends[0], text, 2) == 2);
    BOOST_TEST(std::string(text) == "ab");
    close(ends[0]);
    os_write_quietly(ends[1], "x", 1); // would end this process
    close(ends[1]);

    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    raise(SIGPIPE);
    BOOST_TEST_REQUIRE(pipe(ends) == 0);
    close(ends[0]);
    os_write_quietly(ends[1], "x", 1);
    close(ends[1]);
    sigpending(&pending);
    BOOST_TEST(sigismember(&pending, SIGPIPE) == 1);
    const timespec at_once{};
    BOOST_TEST(sigtimedwait(&pipe_signal, nullptr, &at_once) == SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BOOST_AUTO_TEST_CASE(a_duplicate_is_known_to_be_the_same_file) {
    int ends[2];
    BOOST_TEST_REQUIRE(pipe(ends) == 0);
    const int other = os_duplicate(ends[0], 100);
    BOOST_TEST(other >= 100);
    BOOST_TEST((fcntl(other, F_GETFD) & FD_CLOEXEC) != 0);
    const int null = os_open("/dev/null", O_RDONLY);
    const os_file_identity a = os_identity_of(ends[0]), b = os_identity_of(other), c = os_identity_of(null);
    BOOST_TEST((a.known && b.known && c.known));
    BOOST_TEST((a.device == b.device && a.inode == b.inode));
    BOOST_TEST((a.device != c.device || a.inode != c.inode));
    for (int fd : {ends[0], ends[1], other, null}) os_close(fd);
    BOOST_TEST(!os_identity_of(other).known);
    BOOST_TEST(os_duplicate(other, 100) == -EBADF);
}

BOOST_AUTO_TEST_CASE(the_working_folder_has_a_slash_behind_it) {
    char out[4096], small[4];
    os_working_folder(out, sizeof out);
    char *expected = getcwd(nullptr, 0);
    BOOST_TEST(std::string(out) == (std::string(expected) == "/" ? "/" : std::string(expected) + "/"));
    free(expected);
    os_working_folder(small, sizeof small); // too long for it
    BOOST_TEST((std::string(small) == "" || std::string(small) == "/"));
}
