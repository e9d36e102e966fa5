#define BOOST_TEST_MODULE counter
#include <boost/test/unit_test.hpp>

#include "accounting/linux/counter.hpp"
#include "accounting/linux/variants.hpp"

#include <thread>
#include <tuple>
#include <vector>

using namespace allot::memcg;

namespace {

template<typename Variant>
struct tree {
    counter<Variant::config.layout, Variant::config.protection> root, middle, leaf;
    tally counts;
    tree() {
        middle.parent = &root;
        leaf.parent = &middle;
    }
    [[nodiscard]] std::vector<std::int64_t> usage() const { return {root.usage, middle.usage, leaf.usage}; }
};

using layouts = std::tuple<linux_6_0, linux_6_0_a, linux_6_0_b, linux_6_1>;
using all_levels = std::vector<std::int64_t>;

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(all_levels_are_charged_or_none, Variant, layouts) {
    tree<Variant> t;
    t.middle.max = 100;
    BOOST_TEST((t.leaf.try_charge(60, t.counts) == nullptr));
    BOOST_TEST((t.usage() == all_levels{60, 60, 60}));
    BOOST_TEST((t.leaf.try_charge(41, t.counts) == &t.middle));
    BOOST_TEST((t.usage() == all_levels{60, 60, 60}));
    BOOST_TEST(t.leaf.watermark == 101); // of the level below the refusing one: the kernel's, not ours
    BOOST_TEST(t.middle.watermark == 60);
    BOOST_TEST((t.leaf.try_charge(40, t.counts) == nullptr));
    t.leaf.charge(10, t.counts); // forced
    BOOST_TEST((t.usage() == all_levels{110, 110, 110}));
    t.leaf.uncharge(110, t.counts);
    BOOST_TEST((t.usage() == all_levels{0, 0, 0}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parents_know_how_much_is_protected, Variant, layouts) {
    tree<Variant> t;
    t.leaf.min = 10;
    t.leaf.low = 30;
    (void)t.leaf.try_charge(20, t.counts);
    BOOST_TEST(t.middle.children_min_usage == 10);
    BOOST_TEST(t.middle.children_low_usage == 20);
    (void)t.leaf.try_charge(100, t.counts);
    BOOST_TEST(t.middle.children_low_usage == 30);
    t.leaf.uncharge(115, t.counts);
    BOOST_TEST(t.middle.children_min_usage == 5);
    BOOST_TEST(t.middle.children_low_usage == 5);
    BOOST_TEST(t.root.children_min_usage == 0); // one level is told, not all
}

BOOST_AUTO_TEST_CASE(above_its_protection_a_counter_exchanges_with_each_charge_until_6_0_and_never_since) {
    tree<linux_6_0> before;
    tree<linux_6_1> since;
    auto charges = [](auto &t) {
        t.leaf.min = t.leaf.low = 5;
        (void)t.leaf.try_charge(100, t.counts);
        std::uint64_t at_first = t.counts.protection;
        for (int i = 0; i < 10; ++i) {
            (void)t.leaf.try_charge(1, t.counts);
            t.leaf.uncharge(1, t.counts);
        }
        return t.counts.protection - at_first;
    };
    BOOST_TEST(charges(before) == 40u);
    BOOST_TEST(charges(since) == 0u);
}

BOOST_AUTO_TEST_CASE(usage_has_a_cache_line_of_its_own_since_6_1) {
    counter<counter_layout::split, protection_update::when_changed> split;
    counter<counter_layout::packed, protection_update::always> packed;
    auto distance = [](const void *a, const void *b) {
        return static_cast<const char *>(a) - static_cast<const char *>(b);
    };
    BOOST_TEST(distance(&split.max, &split.usage) >= 64);
    BOOST_TEST(distance(&split.min_usage, &split.usage) >= 64);
    BOOST_TEST(distance(&packed.max, &packed.usage) < 64);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(charges_of_many_threads_add_up, Variant, layouts) {
    tree<Variant> t;
    t.leaf.min = t.leaf.low = 3;
    t.middle.max = 1000;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&t] {
            tally mine;
            for (int n = 0; n < 20000; ++n)
                if (t.leaf.try_charge(n % 7 + 1, mine) == nullptr) t.leaf.uncharge(n % 7 + 1, mine);
        });
    for (std::thread &thread : threads) thread.join();
    BOOST_TEST((t.usage() == all_levels{0, 0, 0}));
}
