#define BOOST_TEST_MODULE metadata
#include <boost/test/unit_test.hpp>

#include "alloc/metadata.hpp"
#include "tests/support/allocated.hpp"
#include "tests/support/child.hpp"

#include <cstring>
#include <set>
#include <vector>

using namespace allot;

namespace {

bool is_zero(const void *p, std::size_t bytes) { return is_filled(p, bytes, 0); }

} // namespace

BOOST_FIXTURE_TEST_CASE(each_size_is_zeroed_when_it_is_new_and_when_it_comes_again, allocated) {
    for (std::size_t bytes = 1; bytes <= std::size_t{1} << 20; bytes = bytes * 3 / 2 + 1) {
        void *p = metadata_alloc(bytes);
        BOOST_TEST_REQUIRE(p != nullptr);
        BOOST_TEST(is_zero(p, bytes));
        std::memset(p, 0xff, bytes);
        metadata_free(p, bytes);
        void *again = metadata_alloc(bytes);
        BOOST_TEST(again == p);
        BOOST_TEST(is_zero(again, bytes));
        metadata_free(again, bytes);
    }
    BOOST_TEST(metadata_alloc((std::size_t{1} << 20) + 1) == nullptr);
}

BOOST_FIXTURE_TEST_CASE(pieces_in_use_do_not_overlap_and_what_is_freed_is_used_again, allocated) {
    std::uint64_t mapped = 0;
    for (int round = 0; round < 5; ++round) {
        std::vector<char *> pieces;
        for (unsigned i = 0; i < 500; ++i) {
            pieces.push_back(static_cast<char *>(metadata_alloc(1000)));
            std::memset(pieces.back(), static_cast<int>(i), 1000);
        }
        for (unsigned i = 0; i < 500; ++i) {
            BOOST_TEST_REQUIRE(is_filled(pieces[i], 1000, i));
            metadata_free(pieces[i], 1000);
        }
        if (round == 0) mapped = metadata_mapped_bytes();
        BOOST_TEST(metadata_mapped_bytes() == mapped);
    }
}

BOOST_FIXTURE_TEST_CASE(wiped_memory_is_zeroed_and_aligned_to_two_lines, allocated) {
    char *first = static_cast<char *>(wiped_alloc(1)), *second = static_cast<char *>(wiped_alloc(300));
    BOOST_TEST_REQUIRE(first != nullptr);
    BOOST_TEST_REQUIRE(second != nullptr);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(first) % 128 == 0u);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(second) % 128 == 0u);
    BOOST_TEST(is_zero(second, 300));
    BOOST_TEST(wiped_alloc(std::size_t{1} << 16) == nullptr); // more than a chunk
}

BOOST_FIXTURE_TEST_CASE(lasting_memory_is_zeroed_aligned_to_two_lines_and_there_in_a_child, allocated) {
    char *first = static_cast<char *>(lasting_alloc(1)), *second = static_cast<char *>(lasting_alloc(300));
    BOOST_TEST_REQUIRE(first != nullptr);
    BOOST_TEST_REQUIRE(second != nullptr);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(second) % 128 == 0u);
    BOOST_TEST(is_zero(second, 300));
    BOOST_TEST(lasting_alloc((std::size_t{1} << 16) + 1) == nullptr); // more than a chunk
    std::memset(second, 3, 300);
    child_end end = in_child([&] {
        metadata_child_start();
        char *third = static_cast<char *>(lasting_alloc(300));
        return is_filled(second, 300, 3) && third != nullptr && third != second && is_zero(third, 300) ? 0 : 1;
    });
    BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
}

BOOST_FIXTURE_TEST_CASE(a_forked_child_finds_wiped_memory_empty_and_knows_itself_and_its_parent_does_not, allocated) {
    char *wiped = static_cast<char *>(wiped_alloc(64));
    char *plain = static_cast<char *>(metadata_alloc(64));
    std::memset(wiped, 1, 64);
    std::memset(plain, 2, 64);
    child_end end = in_child([&] {
        if (!forked_since_start()) return 1;
        if (!is_zero(wiped, 64)) return 2;
        if (!is_filled(plain, 64, 2)) return 3;
        metadata_child_start();
        if (forked_since_start()) return 4;
        return wiped_alloc(64) != nullptr ? 0 : 5;
    });
    BOOST_TEST(end.exited_with(0), "status " << end.status << " " << end.text);
    BOOST_TEST(!forked_since_start());
    BOOST_TEST(is_filled(wiped, 64, 1));
    metadata_free(plain, 64);
}

BOOST_FIXTURE_TEST_CASE(every_range_that_was_mapped_is_told, allocated) {
    std::vector<char *> pieces;
    for (std::size_t bytes : {std::size_t{100}, std::size_t{40000}, std::size_t{70000}, std::size_t{1} << 20})
        pieces.push_back(static_cast<char *>(metadata_alloc(bytes)));
    pieces.push_back(static_cast<char *>(wiped_alloc(100)));
    struct found {
        std::vector<char *> *pieces;
        std::uint64_t bytes, hits;
    } all{&pieces, 0, 0};
    metadata_for_each_range(
        [](void *state, std::uintptr_t start, std::size_t bytes) {
            found &f = *static_cast<found *>(state);
            f.bytes += bytes;
            for (char *p : *f.pieces) f.hits += reinterpret_cast<std::uintptr_t>(p) - start < bytes;
        },
        &all);
    BOOST_TEST(all.hits == pieces.size());
    BOOST_TEST(all.bytes == metadata_mapped_bytes());
}
