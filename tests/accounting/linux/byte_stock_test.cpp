#define BOOST_TEST_MODULE byte_stock
#include <boost/test/unit_test.hpp>

#include "accounting/linux/byte_stock.hpp"

using namespace allot::memcg;

namespace {
struct owner {};
} // namespace

BOOST_AUTO_TEST_CASE(a_stock_serves_whom_it_holds_bytes_of) {
    owner a, b;
    byte_stock<owner, 1> stock;
    BOOST_TEST(!stock.consume(&a, 1));
    stock.slot_to_take() = {&a, 100};
    BOOST_TEST(!stock.consume(&b, 1));
    BOOST_TEST(!stock.consume(&a, 101));
    BOOST_TEST(stock.consume(&a, 100));
    BOOST_TEST(stock.held_for(&a) == 0);
    BOOST_TEST(stock.find(&a) != nullptr);
}

BOOST_AUTO_TEST_CASE(five_owners_fit_and_places_are_taken_in_turn) {
    owner all[6];
    byte_stock<owner, 5> stock;
    for (int i = 0; i < 5; ++i) stock.slot_to_take() = {&all[i], i};
    for (int i = 0; i < 5; ++i) BOOST_TEST(stock.held_for(&all[i]) == i);
    auto *first = &stock.slot_to_take();
    auto *second = &stock.slot_to_take();
    BOOST_TEST(first->owner != nullptr);
    BOOST_TEST(first != second);
}
