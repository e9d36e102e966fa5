#define BOOST_TEST_MODULE digits
#include <boost/test/unit_test.hpp>

#include "accounting/base/digits.hpp"

#include <random>
#include <string>

using allot::digits;

BOOST_AUTO_TEST_CASE(numbers_of_every_length_are_written_as_they_are) {
    std::mt19937_64 random(1);
    for (std::uint64_t value : {0ull, 1ull, 9ull, 10ull, 18446744073709551615ull}) {
        BOOST_TEST(digits(value).c_str() == std::to_string(value));
        BOOST_TEST(digits(value).length() == std::to_string(value).size());
    }
    for (int shift = 0; shift < 64; ++shift) {
        std::uint64_t value = random() >> shift;
        BOOST_TEST(digits(value).c_str() == std::to_string(value));
    }
}
