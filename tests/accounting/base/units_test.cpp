#define BOOST_TEST_MODULE units
#include <boost/test/unit_test.hpp>

#include "accounting/base/units.hpp"

#include <random>

using namespace allot;

BOOST_AUTO_TEST_CASE(bytes_and_objects_of_either_sign_share_a_word_and_come_out_again) {
    for (std::int64_t bytes :
         {-(std::int64_t{1} << 30), std::int64_t{-16}, std::int64_t{0}, std::int64_t{16}, std::int64_t{1} << 30})
        for (std::int32_t objects : {-2147483647, -1, 0, 1, 2147483647}) {
            BOOST_TEST(net_bytes(net_of(bytes, objects)) == bytes);
            BOOST_TEST(net_objects(net_of(bytes, objects)) == objects);
        }
}

// The fast path adds words, never halves: a borrow of the lower half must not show.
BOOST_AUTO_TEST_CASE(words_add_as_their_halves_do) {
    std::mt19937 random(1);
    net_word sum = 0;
    std::int64_t bytes = 0;
    std::int32_t objects = 0;
    for (int i = 0; i < 100000; ++i) {
        std::int64_t size = 16 * (1 + random() % 4096);
        bool frees = random() % 2 != 0 || bytes > (1 << 29);
        if (bytes < -(1 << 29)) frees = false;
        sum += frees ? -net_of(size, 1) : net_of(size, 1);
        bytes += frees ? -size : size;
        objects += frees ? -1 : 1;
        BOOST_TEST_REQUIRE(net_bytes(sum) == bytes);
        BOOST_TEST_REQUIRE(net_objects(sum) == objects);
    }
}
