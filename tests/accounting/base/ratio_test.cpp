#define BOOST_TEST_MODULE ratio
#include <boost/test/unit_test.hpp>

#include "accounting/base/ratio.hpp"
#include "tests/support/verified.hpp"

using namespace allot;

BOOST_FIXTURE_TEST_CASE(a_share_is_rounded_down, verified) {
    BOOST_TEST(ratio_floor(10, 2, 3) == 6u);
    BOOST_TEST(ratio_floor(0, 2, 3) == 0u);
    BOOST_TEST(ratio_floor(10, 3, 3) == 10u);
}

BOOST_FIXTURE_TEST_CASE(bytes_by_bytes_do_not_overflow, verified) {
    std::uint64_t big = std::uint64_t{1} << 62;
    BOOST_TEST(ratio_floor(big, big, big) == big);
    BOOST_TEST(ratio_floor(big, big - 1, big) == big - 1);
    BOOST_TEST(ratio_floor(big, big, 1) == ~std::uint64_t{0});
}
