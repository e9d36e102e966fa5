#define BOOST_TEST_MODULE page_stock
#include <boost/test/unit_test.hpp>

#include "accounting/linux/page_stock.hpp"

#include <map>

using namespace allot::memcg;

namespace {

struct group {};

struct uncharged {
    std::map<group *, std::int64_t> pages;
    std::uint64_t drains = 0;
    auto to() {
        return [this](group *g, std::int64_t n) { pages[g] += n; };
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_stock_of_one_owner_rests_with_up_to_a_batch_and_gives_all_of_more) {
    group a;
    uncharged u;
    page_stock<group, 1> stock(32);
    stock.refill(&a, 32, u.drains, u.to());
    BOOST_TEST(stock.held_for(&a) == 32);
    BOOST_TEST(u.pages.empty());
    stock.refill(&a, 1, u.drains, u.to());
    BOOST_TEST(stock.held_for(&a) == 0);
    BOOST_TEST(u.pages[&a] == 33);
    BOOST_TEST(u.drains == 1u);
}

BOOST_AUTO_TEST_CASE(it_serves_its_owner_alone_and_never_more_than_a_batch) {
    group a, b;
    uncharged u;
    page_stock<group, 1> stock(32);
    stock.refill(&a, 30, u.drains, u.to());
    BOOST_TEST(!stock.consume(&b, 1));
    BOOST_TEST(!stock.consume(&a, 31));
    BOOST_TEST(stock.consume(&a, 30));
    BOOST_TEST(!stock.consume(&a, 1));
    stock.refill(&a, 5, u.drains, u.to());
    stock.refill(&b, 5, u.drains, u.to());
    BOOST_TEST(u.pages[&a] == 5);
    BOOST_TEST(stock.held_for(&b) == 5);
}

BOOST_AUTO_TEST_CASE(seven_owners_keep_theirs_and_an_eighth_takes_the_place_of_one) {
    group all[8];
    uncharged u;
    page_stock<group, 7> stock(64);
    for (int i = 0; i < 7; ++i) stock.refill(&all[i], i + 1, u.drains, u.to());
    BOOST_TEST(u.pages.empty());
    for (int i = 0; i < 7; ++i) BOOST_TEST(stock.held_for(&all[i]) == i + 1);
    stock.refill(&all[7], 10, u.drains, u.to());
    BOOST_TEST(u.drains == 1u);
    BOOST_TEST(stock.held_for(&all[7]) == 10);
    stock.refill(&all[7], 65, u.drains, u.to()); // more than fits goes by
    BOOST_TEST(u.pages[&all[7]] == 65);
    BOOST_TEST(stock.held_for(&all[7]) == 10);
}

BOOST_AUTO_TEST_CASE(drained_it_has_nothing_and_says_so_to_others) {
    group a, b;
    uncharged u;
    page_stock<group, 7> stock(64);
    stock.refill(&a, 3, u.drains, u.to());
    auto is_a = [&](const group *g) { return g == &a; };
    auto is_b = [&](const group *g) { return g == &b; };
    BOOST_TEST(stock.holds_any(is_a));
    BOOST_TEST(!stock.holds_any(is_b));
    stock.drain_all(u.drains, u.to());
    BOOST_TEST(!stock.holds_any(is_a));
    BOOST_TEST(u.pages[&a] == 3);
}
