#define BOOST_TEST_MODULE text_arena
#include <boost/test/unit_test.hpp>

#include "accounting/text_arena.hpp"

#include <cstring>
#include <string>
#include <vector>

using namespace allot;

BOOST_AUTO_TEST_CASE(copies_are_terminated_and_do_not_overlap) {
    text_arena arena;
    std::vector<char *> copies;
    for (int i = 0; i < 5000; ++i) {
        const std::string text(static_cast<std::size_t>(i % 37), static_cast<char>('a' + i % 26));
        copies.push_back(arena.copy(text.data(), text.size()));
    }
    for (int i = 0; i < 5000; ++i)
        BOOST_TEST_REQUIRE(copies[static_cast<std::size_t>(i)] ==
                           std::string(static_cast<std::size_t>(i % 37), static_cast<char>('a' + i % 26)));
}

BOOST_AUTO_TEST_CASE(memory_is_zeroed_and_aligned_for_pointers) {
    text_arena arena;
    for (std::size_t size : {1U, 7U, 8U, 9U, 100000U}) {
        auto *p = static_cast<unsigned char *>(arena.allocate(size));
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(p) % 8 == 0U);
        for (std::size_t i = 0; i < size; ++i) BOOST_TEST_REQUIRE(p[i] == 0);
        std::memset(p, 0xff, size);
    }
}

BOOST_AUTO_TEST_CASE(what_the_kernel_refuses_is_a_null_pointer) {
    text_arena arena;
    BOOST_TEST(arena.allocate(std::size_t{1} << 60) == nullptr);
    BOOST_TEST(arena.allocate(16) != nullptr);
}
