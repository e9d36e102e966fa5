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

BOOST_AUTO_TEST_CASE(each_image_of_a_process_has_a_private_file_of_its_own) {
    char name[] = "/tmp/allot-processes-XXXXXX";
    BOOST_TEST_REQUIRE((mkdtemp(name) != nullptr));
    std::string dir = std::string(name) + "/d";
    line_writer one, two;
    int first = create_region_file(dir.c_str(), "h", one);
    int second = create_region_file(dir.c_str(), "h", two);
    BOOST_TEST(first >= 0);
    BOOST_TEST(second >= 0);
    std::string base = dir + "/h/" + std::to_string(getpid()) + "-" + std::to_string(identity_of(os_pid()).start_time);
    struct stat s;
    BOOST_TEST_REQUIRE(stat(base.c_str(), &s) == 0);
    BOOST_TEST((s.st_mode & 07777) == 0600u);
    BOOST_TEST(stat((base + ".1").c_str(), &s) == 0);
    BOOST_TEST(two.c_str() == base + ".1");
    BOOST_TEST_REQUIRE(stat(dir.c_str(), &s) == 0);
    BOOST_TEST((s.st_mode & 07777) == 0700u);
    os_close(first);
    os_close(second);
    BOOST_TEST(create_region_file("/proc/nowhere", "h", one) < 0);
    BOOST_TEST(create_region_file("", "h", one) < 0);
    std::filesystem::remove_all(name);
}

BOOST_AUTO_TEST_CASE(the_pid_namespace_is_the_inode_of_its_file) {
    struct stat s;
    BOOST_TEST_REQUIRE(stat("/proc/self/ns/pid", &s) == 0);
    BOOST_TEST(pid_namespace() == s.st_ino);
}
