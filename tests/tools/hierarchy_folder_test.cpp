#define BOOST_TEST_MODULE hierarchy_folder
#include <boost/test/unit_test.hpp>

#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "tools/errors.hpp"
#include "tools/hierarchy_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace allot;
namespace fs = std::filesystem;

namespace {

struct scratch {
    fs::path folder;
    std::string dir;
    scratch() {
        std::string name = fs::temp_directory_path() / "allot-folder-XXXXXX";
        folder = mkdtemp(name.data());
        dir = folder / "dir";
    }
    ~scratch() { fs::remove_all(folder); }
};

unsigned mode_of(const fs::path &path) {
    struct stat st {};
    stat(path.c_str(), &st);
    return st.st_mode & 0777;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(the_folder_is_made_for_this_user_alone_and_removed_with_what_is_in_it, scratch) {
    umask(022);
    {
        const hierarchy_folder h(dir, "");
        BOOST_TEST(h.name() == "run-" + std::to_string(getpid()));
        BOOST_TEST(mode_of(dir) == 0700U);
        BOOST_TEST(mode_of(dir + "/" + h.name()) == 0700U);
        std::ofstream(dir + "/" + h.name() + "/1-2") << "x";
    }
    BOOST_TEST(!fs::exists(dir));
}

BOOST_FIXTURE_TEST_CASE(a_dir_that_was_there_stays, scratch) {
    fs::create_directory(dir);
    chmod(dir.c_str(), 0700);
    { const hierarchy_folder h(dir, ""); }
    BOOST_TEST(fs::is_empty(dir));
}

BOOST_FIXTURE_TEST_CASE(a_dir_that_others_could_write_to_is_refused, scratch) {
    fs::create_directory(dir);
    chmod(dir.c_str(), 0755);
    BOOST_CHECK_THROW(hierarchy_folder(dir, "x"), failure);
    fs::remove(dir);
    fs::create_directory(folder / "real");
    chmod((folder / "real").c_str(), 0700);
    fs::create_symlink(folder / "real", dir);
    BOOST_CHECK_THROW(hierarchy_folder(dir, "x"), failure);
    fs::remove(dir);
    std::ofstream(dir) << "a file";
    BOOST_CHECK_THROW(hierarchy_folder(dir, "x"), failure);
    BOOST_CHECK_THROW(hierarchy_folder("/nowhere/at/all", "x"), failure);
}

BOOST_FIXTURE_TEST_CASE(a_name_that_is_given_is_shared_and_stays, scratch) {
    {
        const hierarchy_folder h(dir, "web");
        const hierarchy_folder other(dir, "web");
        BOOST_TEST(!remove_hierarchy(dir, "web")); // runs have it
    }
    BOOST_TEST(fs::exists(dir + "/web"));
    BOOST_TEST(remove_hierarchy(dir, "web"));
    BOOST_TEST(!fs::exists(dir + "/web"));
}

BOOST_FIXTURE_TEST_CASE(a_second_run_of_one_process_gets_a_name_of_its_own, scratch) {
    const hierarchy_folder one(dir, "");
    const hierarchy_folder two(dir, "");
    BOOST_TEST(one.name() != two.name());
}

BOOST_FIXTURE_TEST_CASE(what_killed_runs_left_behind_is_swept_away_once_their_processes_have_gone, scratch) {
    const hierarchy_folder running(dir, "");
    const auto make = [&](const char *name) {
        BOOST_TEST_REQUIRE(
            (shared::attach(dir.c_str(), name, shared::if_missing::make).error == shared::attach_error::none));
    };
    make("run-1-7");
    shared::detach();
    make("run-1-8");
    BOOST_TEST_REQUIRE(shared::member_join(shared::root_node, 0)); // this process
    shared::detach();
    make("web");
    shared::detach();
    fs::create_directory(dir + "/run-1-9");
    std::ofstream(dir + "/run-1-9/hierarchy") << "no such file";
    const hierarchy_folder next(dir, "");
    BOOST_TEST(!fs::exists(dir + "/run-1-7"));
    BOOST_TEST(fs::exists(dir + "/run-1-8"));
    BOOST_TEST(!fs::exists(dir + "/run-1-9"));
    BOOST_TEST(fs::exists(dir + "/web"));
    BOOST_TEST(fs::exists(dir + "/" + running.name()));
}

BOOST_AUTO_TEST_CASE(a_name_is_one_folder) {
    for (const char *good : {"a", "run-1", "..."}) BOOST_TEST(is_hierarchy_name(good));
    for (const char *bad : {"", ".", "..", "a/b", "/"}) BOOST_TEST(!is_hierarchy_name(bad));
    BOOST_TEST(!is_hierarchy_name(std::string(64, 'a')));
}
