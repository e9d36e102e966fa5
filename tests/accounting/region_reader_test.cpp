#define BOOST_TEST_MODULE region_reader
#include <boost/test/unit_test.hpp>

#include "accounting/region_reader.hpp"

#include "tests/support/hierarchy.hpp"
#include "tests/support/verified.hpp"

#include <fcntl.h>

#include <cstring>
#include <map>
#include <random>

using namespace allot;

namespace {

std::map<std::string, tenant_view> tenants_of(const region_reader &reader) {
    std::map<std::string, tenant_view> all;
    for (std::uint32_t index = 0; index < reader.tenants_end(); ++index) {
        tenant_view t;
        char path[512];
        if (!reader.tenant_at(index, t)) continue;
        reader.path_of(index, path, sizeof path);
        all[path] = t;
    }
    return all;
}

// A program with limits, which ends in one way or another.
template<class End>
std::string file_of_a_program(hierarchy &h, End end) {
    h.run([&] {
        if (!accounting_start()) _exit(1);
        allot_tenant *a = tenant_create_path("/web/api");
        (void)tenant_set(a, "memory.max", "1M");
        context *c = context_open(obj_cgroup_of(a));
        for (int i = 0; i < 10; ++i) (void)charge(c, 4096);
        (void)charge(c, 2 << 20);
        (void)charge_bytes(obj_cgroup_of(tenant_root()), 5000, charge_kind::external);
        end();
    });
    return h.only_file();
}

} // namespace

BOOST_AUTO_TEST_CASE(the_books_of_a_killed_program_are_read) {
    hierarchy h;
    std::string file = file_of_a_program(h, [] { kill(getpid(), SIGKILL); });
    region_reader reader;
    BOOST_TEST_REQUIRE((reader.open(file.c_str()) == region_error::none));
    BOOST_TEST((reader.process().end == process_end::died));
    BOOST_TEST(reader.process().pid == static_cast<std::uint32_t>(h.pid()));
    BOOST_TEST(std::string(reader.process().name).find("region_reader") != std::string::npos);
    auto all = tenants_of(reader);
    BOOST_TEST(all.size() == 3u);
    BOOST_TEST(all["/web/api"].current == 40960u);
    BOOST_TEST(all["/web/api"].max == 1u << 20);
    BOOST_TEST(all["/web/api"].events_local[allot_event_oom] == 1u);
    BOOST_TEST(all["/"].events_local[allot_event_oom] == 0u);
    BOOST_TEST(all["/"].events[allot_event_oom] == 1u);
    BOOST_TEST(all["/"].current == 45960u);
    BOOST_TEST(all["/"].max == unlimited);
    BOOST_TEST(all["/"].stats[allot_stat_slab] == 40960);
    BOOST_TEST(all["/"].stats[allot_stat_objects] == 10);
    BOOST_TEST(all["/"].stats[allot_stat_external] == 5000);
    BOOST_TEST(all["/web/api"].depth == 2u);
}

BOOST_AUTO_TEST_CASE(a_program_that_ended_by_itself_is_told_from_one_that_did_not) {
    hierarchy h;
    std::string file = file_of_a_program(h, [] { accounting_finish(); });
    region_reader reader;
    BOOST_TEST_REQUIRE((reader.open(file.c_str()) == region_error::none));
    BOOST_TEST((reader.process().end == process_end::exited));
}

BOOST_AUTO_TEST_CASE(what_is_no_region_is_refused) {
    region_reader reader;
    BOOST_TEST((reader.open("/does/not/exist") == region_error::not_there));
    BOOST_TEST((reader.open("/proc/self/exe") == region_error::not_there)); // a link is not followed
    BOOST_TEST((reader.open("/etc/passwd") == region_error::not_a_region));
    BOOST_TEST((reader.open("/dev/null") == region_error::not_a_region));
    BOOST_TEST((reader.open("/tmp") == region_error::not_a_region));
    BOOST_TEST(reader.tenants_end() == 0u);
}

BOOST_AUTO_TEST_CASE(another_major_version_is_refused_and_named) {
    hierarchy h;
    std::string file = file_of_a_program(h, [] {});
    int fd = open(file.c_str(), O_RDWR);
    std::uint32_t major = region_major + 1;
    BOOST_TEST(pwrite(fd, &major, sizeof major, offsetof(region_header, major)) == 4);
    close(fd);
    region_reader reader;
    BOOST_TEST((reader.open(file.c_str()) == region_error::other_version));
    BOOST_TEST(reader.major() == region_major + 1);
}

// Truncated anywhere, or with random bytes anywhere in its used parts, a file must be read or refused, never more.
BOOST_AUTO_TEST_CASE(hostile_bytes_neither_crash_nor_hang_it) {
    hierarchy h;
    std::string file = file_of_a_program(h, [] {});
    std::mt19937_64 random(7);
    std::string scratch = h.path() + "/scratch";
    const std::uint64_t starts[] = {0,
                                    table_start(table::processes, 0),
                                    table_start(table::tenants, 0),
                                    table_start(table::obj_cgroups, 0),
                                    table_start(table::contexts, 0),
                                    table_start(table::tenant_extras, 0)};
    std::vector<std::vector<char>> pieces;
    int original = open(file.c_str(), O_RDONLY);
    for (std::uint64_t start : starts) {
        pieces.emplace_back(4096);
        BOOST_TEST_REQUIRE(pread(original, pieces.back().data(), 4096, static_cast<off_t>(start)) == 4096);
    }
    close(original);
    unsigned read = 0;
    for (int round = 0; round < 400; ++round) {
        int fd = open(scratch.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        for (std::size_t p = 0; p < pieces.size(); ++p) {
            std::vector<char> bytes = pieces[p];
            unsigned changes = p == 0 ? random() % 2 : random() % 12;
            for (unsigned i = 0; i < changes; ++i) {
                std::uint64_t value = random() % 3 == 0   ? ~std::uint64_t{0}
                                      : random() % 2 == 0 ? random() % 8
                                                          : random();
                std::memcpy(&bytes[random() % 512 * 8], &value, 4);
            }
            BOOST_TEST_REQUIRE(pwrite(fd, bytes.data(), 4096, static_cast<off_t>(starts[p])) == 4096);
        }
        if (round % 5 == 0) BOOST_TEST_REQUIRE(ftruncate(fd, static_cast<off_t>(random() % (starts[4] + 4096))) == 0);
        close(fd);
        region_reader reader;
        if (reader.open(scratch.c_str()) != region_error::none) continue;
        ++read;
        for (const auto &[path, t] : tenants_of(reader)) BOOST_TEST_REQUIRE(std::strlen(t.name) < tenant_name_bytes);
        BOOST_TEST_REQUIRE(std::strlen(reader.process().name) < process_name_bytes);
    }
    BOOST_TEST(read > 50u); // most are, after all
}
