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

BOOST_FIXTURE_TEST_CASE(what_was_freed_first_is_used_first, verified) {
    static slot_pool<thing, 100> pool;
    for (int i = 0; i < 10; ++i) (void)pool.make();
    for (std::uint32_t i : {3u, 7u, 5u}) pool.put(i);
    for (std::uint32_t i : {3u, 7u, 5u, 11u}) BOOST_TEST(pool.make() == i);
}
