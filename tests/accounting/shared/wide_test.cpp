#define BOOST_TEST_MODULE shared_wide
#include <boost/test/unit_test.hpp>

#include "accounting/shared/wide.hpp"

#include <thread>
#include <vector>

using namespace allot::shared;

BOOST_AUTO_TEST_CASE(both_halves_change_or_none) {
    wide w{{5}, {7}};
    BOOST_TEST(!change_both(w, 5, 6, 1, 1));
    BOOST_TEST(!change_both(w, 4, 7, 1, 1));
    BOOST_TEST((w.value == 5u && w.stamp == 7u));
    BOOST_TEST(change_both(w, 5, 7, ~std::uint64_t{0}, 8));
    BOOST_TEST((w.value == ~std::uint64_t{0} && w.stamp == 8u));
}

BOOST_AUTO_TEST_CASE(they_are_read_as_they_were_together) {
    wide w{{0}, {0}};
    std::atomic<bool> is_over{false};
    std::atomic<int> torn{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] {
            while (!is_over) {
                std::uint64_t stamp;
                const std::uint64_t value = read_both(w, stamp);
                torn += value != 3 * stamp;
            }
        });
    for (std::uint64_t i = 0; i < 200000; ++i) BOOST_TEST_REQUIRE(change_both(w, 3 * i, i, 3 * (i + 1), i + 1));
    is_over = true;
    for (std::thread &t : readers) t.join();
    BOOST_TEST(torn == 0);
}
