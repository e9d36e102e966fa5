#define BOOST_TEST_MODULE elf_file
#include <boost/test/unit_test.hpp>

#include "tools/elf_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

using namespace allot;
namespace fs = std::filesystem;

namespace {

std::string bytes_of(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct scratch {
    fs::path file;
    scratch() {
        std::string name = fs::temp_directory_path() / "allot-elf-XXXXXX";
        file = fs::path(mkdtemp(name.data())) / "file";
    }
    ~scratch() { fs::remove_all(file.parent_path()); }
    std::optional<elf_facts> read(const std::string &bytes) const {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
        return read_elf(file);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(this_test_is_a_dynamic_program_of_its_own_kind) {
    const auto facts = read_elf("/proc/self/exe");
    BOOST_TEST_REQUIRE(facts.has_value());
    BOOST_TEST(facts->bits == 64U);
    BOOST_TEST(facts->same_kind);
    BOOST_TEST(facts->interpreter.find("/ld-linux") != std::string::npos);
    BOOST_TEST(std::count(facts->needed.begin(), facts->needed.end(), "libc.so.6") == 1);
    BOOST_TEST(!facts->is_go);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_elf_file_is_none, scratch) {
    BOOST_TEST(!read("").has_value());
    BOOST_TEST(!read("#!/bin/sh\n").has_value());
    BOOST_TEST(!read_elf("/nowhere").has_value());
    BOOST_TEST(!read_elf("/").has_value());
}

BOOST_FIXTURE_TEST_CASE(another_class_is_recognised_by_the_header_alone, scratch) {
    std::string bytes = bytes_of("/proc/self/exe");
    bytes[EI_CLASS] = ELFCLASS32;
    bytes[offsetof(Elf32_Ehdr, e_machine)] = EM_386;
    bytes[offsetof(Elf32_Ehdr, e_machine) + 1] = 0;
    const auto facts = read(bytes);
    BOOST_TEST_REQUIRE(facts.has_value());
    BOOST_TEST(facts->bits == 32U);
    BOOST_TEST(!facts->same_kind);
    BOOST_TEST(machine_name(facts->machine) == "i386");
}

// A reader that trusts an offset reads outside of its mapping and is ended by a signal here.
BOOST_FIXTURE_TEST_CASE(damaged_files_are_survived, scratch) {
    const std::string bytes = bytes_of("/bin/true");
    // Cut within the header there is nothing to go by.
    for (std::size_t length : {0U, 3U, 4U, 17U, 51U}) BOOST_TEST(!read(bytes.substr(0, length)).has_value());
    for (std::size_t length : {52U, 63U, 64U, 65U, 1000U, 5000U}) BOOST_TEST(read(bytes.substr(0, length)).has_value());
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string damaged = bytes;
        // Mostly in the headers, where the offsets are.
        for (int i = 0; i < 8; ++i) damaged[4 + random() % 600] = static_cast<char>(random());
        for (int i = 0; i < 8; ++i) damaged[damaged.size() - 1 - random() % 2000] = static_cast<char>(random());
        BOOST_TEST_REQUIRE(read(damaged).has_value());
    }
}
