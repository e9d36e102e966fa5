// The files are made by the accounting itself, in a child: what is read is what a process leaves behind.
#define BOOST_TEST_MODULE read_images
#include <boost/test/unit_test.hpp>

#include "accounting/accounting.hpp"
#include "accounting/options.hpp"
#include "tools/hierarchy_folder.hpp"
#include "tools/read_images.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace allot;

namespace {

struct scratch {
    std::filesystem::path folder;
    scratch() {
        std::string name = std::filesystem::temp_directory_path() / "allot-images-XXXXXX";
        folder = mkdtemp(name.data());
    }
    ~scratch() { std::filesystem::remove_all(folder); }
};

// In a child: opens the books with those settings, charges, and is ended by SIGKILL.
pid_t charge_and_die(const std::string &dir, const std::string &hierarchy) {
    const pid_t child = fork();
    if (child != 0) {
        waitpid(child, nullptr, 0);
        return child;
    }
    std::string texts[] = {"ALLOT_DIR=" + dir, "ALLOT_HIERARCHY=" + hierarchy, "ALLOT_TENANT=/web/api",
                           "ALLOT_MEMORY_MAX=1M"};
    char *environment[] = {texts[0].data(), texts[1].data(), texts[2].data(), texts[3].data(), nullptr};
    options_set_environment(environment);
    if (!accounting_start()) _exit(1);
    const std::uint32_t owner = obj_cgroup_of(tenant_default());
    if (!charge_bytes(owner, 300000, charge_kind::external)) _exit(2);
    if (charge_bytes(owner, 900000, charge_kind::external)) _exit(3);
    uncharge_bytes(owner, 100000, charge_kind::external);
    kill(getpid(), SIGKILL);
    _exit(4);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(what_a_killed_process_was_charged_is_read, scratch) {
    const hierarchy_folder h(folder / "dir", "h");
    const pid_t pid = charge_and_die(h.dir(), h.name());
    const auto images = read_images(h.files());
    BOOST_TEST_REQUIRE(images.size() == 1U);
    BOOST_TEST(images[0].problem == "");
    BOOST_TEST(images[0].pid == static_cast<std::uint32_t>(pid));
    BOOST_TEST(images[0].program == "read_images_test");
    BOOST_TEST((images[0].state == image_state::ended));
    BOOST_TEST_REQUIRE(images[0].tenants.size() == 3U);
    BOOST_TEST(images[0].tenants[0].path == "/");
    BOOST_TEST(images[0].tenants[1].path == "/web");
    const tenant_figures &api = images[0].tenants[2];
    BOOST_TEST(api.path == "/web/api");
    BOOST_TEST(api.max == 1048576U);
    BOOST_TEST(api.current == 200000U);
    BOOST_TEST(api.peak == 300000U);
    BOOST_TEST(api.stats[allot_stat_external] == 200000U);
    BOOST_TEST(api.events[allot_event_oom] == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_makes_no_sense_is_a_problem_and_nothing_worse, scratch) {
    std::ofstream(folder / "text") << "not a region";
    std::ofstream(folder / "empty");
    const auto images = read_images({folder / "text", folder / "empty", folder / "missing"});
    BOOST_TEST_REQUIRE(images.size() == 3U);
    for (const auto &image : images) {
        BOOST_TEST(image.problem != "");
        BOOST_TEST(image.tenants.empty());
    }
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_cut_short_is_read_as_far_as_it_goes, scratch) {
    const hierarchy_folder h(folder / "dir", "h");
    charge_and_die(h.dir(), h.name());
    const std::string file = h.files().at(0);
    for (const std::uintmax_t size : {64U << 10, 4096U, 100U, 0U}) {
        std::filesystem::resize_file(file, size);
        BOOST_TEST(read_images({file}).size() == 1U);
    }
}
