// The rules by which updates leave the cache, met to the digit on streams whose answer is known by arithmetic.
#define BOOST_TEST_MODULE vmstat_cache
#include <boost/test/unit_test.hpp>

#include "accounting/linux/vmstat_cache.hpp"

using namespace allot::memcg;

namespace {

// How many of so many updates by the same number of bytes were passed on.
int passed_on(int updates, std::int64_t bytes) {
    vmstat_cache cache;
    int count = 0;
    for (int i = 0; i < updates; ++i)
        if (cache.update(0, slab_kind::unreclaimable, bytes) != 0) ++count;
    return count;
}

} // namespace

BOOST_AUTO_TEST_CASE(growth_by_equal_steps_is_passed_on_once_more_than_a_page_has_come_together) {
    for (std::int64_t cost : {104, 200, 264, 584, 1032, 2056, 4096}) {
        int every = static_cast<int>(page_bytes / cost) + 1; // memcg-style costs: floor(4096 / s) + 1
        BOOST_TEST(passed_on(1000 * every, cost) == 1000, "cost " << cost);
    }
}

BOOST_AUTO_TEST_CASE(an_update_above_a_page_is_kept_once) {
    BOOST_TEST(passed_on(1000, 4104) == 500);
    BOOST_TEST(passed_on(1000, 8200) == 500);
}

BOOST_AUTO_TEST_CASE(an_object_that_comes_and_goes_is_never_passed_on) {
    vmstat_cache cache;
    for (int i = 0; i < 1000; ++i) {
        BOOST_TEST(cache.update(0, slab_kind::unreclaimable, 4104) == 0);
        BOOST_TEST(cache.update(0, slab_kind::unreclaimable, -4104) == 0);
    }
    BOOST_TEST(cache.is_empty());
}

BOOST_AUTO_TEST_CASE(the_two_kinds_do_not_push_each_other_out) {
    vmstat_cache cache;
    BOOST_TEST(cache.update(0, slab_kind::reclaimable, 4000) == 0);
    BOOST_TEST(cache.update(0, slab_kind::unreclaimable, 4000) == 0);
    BOOST_TEST(cache.update(0, slab_kind::reclaimable, 200) == 4200);
    BOOST_TEST(!cache.is_empty());
}

BOOST_AUTO_TEST_CASE(what_is_taken_belongs_to_the_node_of_the_updates) {
    vmstat_cache cache;
    (void)cache.update(1, slab_kind::reclaimable, 100);
    (void)cache.update(1, slab_kind::unreclaimable, -30);
    BOOST_TEST(cache.is_of_another_node(0));
    BOOST_TEST(!cache.is_of_another_node(1));
    std::int64_t sum = 0;
    cache.take([&](std::uint32_t node, slab_kind kind, std::int64_t bytes) {
        BOOST_TEST(node == 1u);
        BOOST_TEST(bytes == (kind == slab_kind::reclaimable ? 100 : -30));
        sum += bytes;
    });
    BOOST_TEST(sum == 70);
    BOOST_TEST(cache.is_empty());
    BOOST_TEST(!cache.is_of_another_node(0));
}
