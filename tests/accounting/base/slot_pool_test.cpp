#define BOOST_TEST_MODULE slot_pool
#include <boost/test/unit_test.hpp>

#include "accounting/base/slot_pool.hpp"
#include "tests/support/verified.hpp"

#include <set>
#include <vector>

using namespace allot;

namespace {
struct thing {
    std::uint32_t free_next;
    std::uint32_t value;
};
} // namespace

BOOST_FIXTURE_TEST_CASE(records_stay_where_they_are_and_zero_is_none, verified) {
    static slot_pool<thing, 100'000> pool;
    std::vector<thing *> where(1);
    for (std::uint32_t i = 1; i < 100'000; ++i) {
        BOOST_TEST_REQUIRE(pool.make() == i);
        BOOST_TEST_REQUIRE(pool.at(i).value == 0u);
        pool.at(i).value = i;
        where.push_back(&pool.at(i));
    }
    BOOST_TEST(pool.make() == 0u);
    BOOST_TEST(pool.count() == 100'000u);
    for (std::uint32_t i = 1; i < 100'000; ++i) BOOST_TEST_REQUIRE((&pool.at(i) == where[i] && where[i]->value == i));
}

BOOST_FIXTURE_TEST_CASE(what_was_freed_rests_until_others_are_free_too_or_there_is_nothing_else, verified) {
    static slot_pool<thing, 10, 2> pool;
    for (int i = 0; i < 4; ++i) (void)pool.make();
    for (std::uint32_t i : {3u, 1u}) pool.put(i);
    BOOST_TEST(pool.make() == 5u);
    pool.put(2);
    for (std::uint32_t i : {3u, 6u, 7u, 8u, 9u, 1u, 2u, 0u}) BOOST_TEST(pool.make() == i);
}

BOOST_FIXTURE_TEST_CASE(what_was_freed_first_is_used_first, verified) {
    static slot_pool<thing, 100> pool;
    for (int i = 0; i < 10; ++i) (void)pool.make();
    for (std::uint32_t i : {3u, 7u, 5u}) pool.put(i);
    for (std::uint32_t i : {3u, 7u, 5u, 11u}) BOOST_TEST(pool.make() == i);
}
