#define BOOST_TEST_MODULE processes
#include <boost/test/unit_test.hpp>

#include "accounting/processes.hpp"

#include "accounting/base/os.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace allot;

BOOST_AUTO_TEST_CASE(a_process_is_alive_until_it_is_dead_and_a_zombie_is_dead) {
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    auto pid = static_cast<std::uint32_t>(child);
    process_identity identity = identity_of(pid);
    BOOST_TEST(identity.start_time > 0u);
    BOOST_TEST(process_is_alive(pid, identity));
    BOOST_TEST(
        !process_is_alive(pid, {identity.start_time + 1, identity.start_of_stack})); // the id was given to another
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, pid, &info, WEXITED | WNOWAIT); // dead, not yet waited for
    BOOST_TEST(!process_is_alive(pid, identity));
    waitpid(child, nullptr, 0);
    BOOST_TEST(!process_is_alive(pid, identity));
    BOOST_TEST(identity_of(pid).start_time == 0u);
}

// A name with ") Z" in it, as any program may give itself.
BOOST_AUTO_TEST_CASE(a_name_cannot_pretend_to_be_a_state) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, "x) Z 1 (");
        pause();
        _exit(0);
    }
    usleep(20000);
    auto pid = static_cast<std::uint32_t>(child);
    BOOST_TEST(process_is_alive(pid, identity_of(pid)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

BOOST_AUTO_TEST_CASE(the_start_time_is_field_22_of_stat) {
    std::ifstream stat("/proc/self/stat");
    std::string word;
    for (int field = 1; field <= 22; ++field) stat >> word;
    BOOST_TEST(identity_of(os_pid()).start_time == std::stoull(word));
}

BOOST_AUTO_TEST_CASE(the_pid_namespace_is_the_inode_of_its_file) {
    struct stat s;
    BOOST_TEST_REQUIRE(stat("/proc/self/ns/pid", &s) == 0);
    BOOST_TEST(pid_namespace() == s.st_ino);
}
