#define BOOST_TEST_MODULE unit_bits
#include <boost/test/unit_test.hpp>

#include "alloc/unit_bits.hpp"

#include <memory>
#include <random>
#include <vector>

using namespace allot;

namespace {

constexpr std::uint32_t size = 500;

// The same as a row of flags.
struct model {
    std::vector<bool> flags = std::vector<bool>(size);

    template<typename Wanted>
    static std::uint32_t next(std::uint32_t from, std::uint32_t end, Wanted wanted) {
        while (from < end && !wanted(from)) ++from;
        return from < end ? from : end;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(every_search_finds_what_a_row_of_flags_says) {
    std::mt19937 random(3);
    auto a = std::make_unique<unit_bits>(), b = std::make_unique<unit_bits>();
    model x, y;
    for (int step = 0; step < 20000; ++step) {
        bool is_first = random() % 2 != 0, is_set = random() % 2 != 0;
        std::uint32_t first = 1 + random() % (size - 1), count = random() % 3 == 0 ? random() % 200 : random() % 5;
        if (first + count > size) count = size - first;
        unit_bits &bits = is_first ? *a : *b;
        for (std::uint32_t i = first; i < first + count; ++i) (is_first ? x : y).flags[i] = is_set;
        is_set ? bits.set(first, count) : bits.clear(first, count);

        std::uint32_t from = random() % size, end = from + random() % (size - from + 1);
        auto both = [&](std::uint32_t i) { return x.flags[i] && y.flags[i]; };
        BOOST_TEST_REQUIRE(a->test(first) == x.flags[first]);
        BOOST_TEST_REQUIRE(a->next_set(from, end) == model::next(from, end, [&](auto i) { return x.flags[i]; }));
        BOOST_TEST_REQUIRE(a->next_clear(from, end) == model::next(from, end, [&](auto i) { return !x.flags[i]; }));
        BOOST_TEST_REQUIRE(unit_bits::next_of_both(*a, *b, from, end) == model::next(from, end, both));
        std::uint32_t behind = end;
        while (behind > from && !both(behind - 1)) --behind;
        std::uint32_t found = unit_bits::behind_last_of_both(*a, *b, from, end);
        BOOST_TEST_REQUIRE(found == (behind == from ? 0 : behind));
        if (found == 0) continue;
        std::uint32_t start = found;
        while (start > from && both(start - 1)) --start;
        BOOST_TEST_REQUIRE(unit_bits::start_of_both(*a, *b, from, found) == start);
    }
    a->clear_all(size);
    BOOST_TEST(a->next_set(0, size) == size);
}
