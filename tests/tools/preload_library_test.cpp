#define BOOST_TEST_MODULE preload_library
#include <boost/test/unit_test.hpp>

#include "tests/support/scratch.hpp"
#include "tools/errors.hpp"
#include "tools/preload_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace allot;
namespace fs = std::filesystem;

namespace {

struct scratch : scratch_folder {
    std::string make(const std::string &name) const {
        fs::create_directories((folder / name).parent_path());
        std::ofstream(folder / name) << "x";
        return fs::canonical(folder / name);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_library_is_found_in_a_build_tree_and_installed, scratch) {
    fs::create_directories(folder / "build/tools");
    fs::create_directories(folder / "usr/bin");
    BOOST_TEST(preload_library_beside(folder / "build/tools") == "");
    const std::string built = make("build/preload/liballot-preload.so");
    BOOST_TEST(preload_library_beside(folder / "build/tools") == built);
    const std::string installed = make("usr/lib/x86_64-linux-gnu/liballot-preload.so");
    BOOST_TEST(preload_library_beside(folder / "usr/bin") == installed);
}

BOOST_FIXTURE_TEST_CASE(the_environment_can_name_it, scratch) {
    const std::string library = make("mine.so");
    setenv("ALLOT_PRELOAD_LIBRARY", library.c_str(), 1);
    BOOST_TEST(find_preload_library() == library);
    setenv("ALLOT_PRELOAD_LIBRARY", "/nowhere.so", 1);
    BOOST_CHECK_THROW((void)find_preload_library(), failure);
    // ld.so would take it for two libraries and say nothing.
    setenv("ALLOT_PRELOAD_LIBRARY", make("with space.so").c_str(), 1);
    BOOST_CHECK_THROW((void)find_preload_library(), failure);
    unsetenv("ALLOT_PRELOAD_LIBRARY");
}

BOOST_AUTO_TEST_CASE(what_is_preloaded_already_stays_and_comes_after) {
    BOOST_TEST(preload_first("/l.so", "") == "/l.so");
    BOOST_TEST(preload_first("/l.so", "/a.so:/b.so") == "/l.so:/a.so:/b.so");
    BOOST_TEST(preload_first("/l.so", "/a.so /b.so ") == "/l.so:/a.so:/b.so");
}

BOOST_AUTO_TEST_CASE(a_run_in_a_run_preloads_the_library_once) {
    BOOST_TEST(preload_first("/l.so", "/l.so:/a.so") == "/l.so:/a.so");
    BOOST_TEST(preload_first("/l.so", "/a.so:/l.so") == "/l.so:/a.so");
}
