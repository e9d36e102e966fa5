#define BOOST_TEST_MODULE environment
#include <boost/test/unit_test.hpp>

#include "accounting/base/os.hpp"
#include "accounting/environment.hpp"

#include <cstdlib>
#include <set>
#include <string>
#include <unistd.h>

using namespace allot;

namespace {

std::set<std::string> all(const process_environment &e) {
    std::set<std::string> texts;
    for (char *const *p = e.entries(); *p != nullptr; ++p) texts.insert(*p);
    return texts;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_a_constructor_was_handed_is_taken_before_anything_else) {
    char one[] = "ONE=1";
    char *given[] = {one, nullptr};
    BOOST_TEST(all(process_environment(given)) == std::set<std::string>{"ONE=1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_environment_of_libc_is_taken_when_it_is_there) {
    setenv("ALLOT_TEST_ENTRY", "yes", 1);
    BOOST_TEST(all(process_environment(nullptr)).count("ALLOT_TEST_ENTRY=yes") == 1U);
}

// Before libc is initialised, and after clearenv(), `environ` is null: the kernel's copy stands in.
BOOST_AUTO_TEST_CASE(without_an_environ_the_kernels_copy_is_read) {
    BOOST_TEST_REQUIRE(getenv("PATH") != nullptr);
    const std::string path = std::string("PATH=") + getenv("PATH");
    char **saved = environ;
    environ = nullptr;
    const auto texts = all(process_environment(nullptr));
    environ = saved;
    BOOST_TEST(texts.count(path) == 1U);
    BOOST_TEST(texts.count("") == 0U);
}

BOOST_AUTO_TEST_CASE(this_program_is_known_by_its_file_name) {
    char name[256];
    executable_file_name(name, sizeof name);
    BOOST_TEST(std::string(name) == "environment_test");
    char cut[5];
    executable_file_name(cut, sizeof cut);
    BOOST_TEST(std::string(cut) == "envi");
    program_file_name(name, sizeof name);
    BOOST_TEST(std::string(name).find('/') == std::string::npos);
    BOOST_TEST(!std::string(name).empty());
}

BOOST_AUTO_TEST_CASE(a_test_runs_with_its_users_rights_and_on_a_machine_with_memory) {
    BOOST_TEST(!process_is_secure());
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    BOOST_TEST(os_ram_bytes() == pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}
