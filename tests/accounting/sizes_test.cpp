#define BOOST_TEST_MODULE sizes
#include <boost/test/unit_test.hpp>

#include "accounting/sizes.hpp"

#include <clocale>
#include <cstdint>
#include <random>
#include <string>

using namespace allot;

namespace {

constexpr std::uint64_t kib = 1024, mib = kib * kib, gib = kib * mib, tib = kib * gib;

std::uint64_t bytes_of(const char *text, std::uint64_t base = no_percent_base) {
    const size_result r = size_parse(text, base);
    BOOST_TEST_REQUIRE((r.error == size_error::none), text << ": " << size_error_hint(r.error));
    return r.bytes;
}

size_error error_of(const char *text, std::uint64_t base = 1000) { return size_parse(text, base).error; }

std::string exact(std::uint64_t bytes) {
    char out[size_text_bytes];
    return format_bytes_exact(bytes, out);
}

std::string rounded(std::uint64_t bytes) {
    char out[size_text_bytes];
    return format_bytes_rounded(bytes, out);
}

} // namespace

BOOST_AUTO_TEST_CASE(bytes_are_kept_and_not_rounded_to_pages) {
    BOOST_TEST(bytes_of("0") == 0U);
    BOOST_TEST(bytes_of("4097") == 4097U);
    BOOST_TEST(bytes_of("512B") == 512U);
}

BOOST_AUTO_TEST_CASE(units_are_powers_of_1024_in_either_case) {
    BOOST_TEST(bytes_of("1k") == kib);
    BOOST_TEST(bytes_of("1K") == kib);
    BOOST_TEST(bytes_of("512M") == 512 * mib);
    BOOST_TEST(bytes_of("1g") == gib);
    BOOST_TEST(bytes_of("2T") == 2 * tib);
    BOOST_TEST(bytes_of("1P") == kib * tib);
    BOOST_TEST(bytes_of("3E") == 3 * mib * tib);
    BOOST_TEST(bytes_of("5MiB") == 5 * mib);
    BOOST_TEST(bytes_of("5mib") == 5 * mib);
}

BOOST_AUTO_TEST_CASE(fractions_are_floored_to_a_byte) {
    BOOST_TEST(bytes_of("1.5G") == gib + gib / 2);
    BOOST_TEST(bytes_of(".5K") == 512U);
    BOOST_TEST(bytes_of("0.001K") == 1U);
    BOOST_TEST(bytes_of("0.3333333333333333333333333333K") == 341U);
}

BOOST_AUTO_TEST_CASE(sums_go_from_the_larger_unit_to_the_smaller) {
    BOOST_TEST(bytes_of("1G500M") == gib + 500 * mib);
    BOOST_TEST(bytes_of("1G 500M") == gib + 500 * mib);
    BOOST_TEST(bytes_of("1M1K1") == mib + kib + 1);
    BOOST_TEST((error_of("1M1G") == size_error::unit_order));
    BOOST_TEST((error_of("1M1M") == size_error::unit_order));
    BOOST_TEST((error_of("1 1") == size_error::unit_order));
}

BOOST_AUTO_TEST_CASE(no_limit_is_written_max_or_infinity) {
    BOOST_TEST(bytes_of("max") == unlimited);
    BOOST_TEST(bytes_of("infinity") == unlimited);
    BOOST_TEST(bytes_of("max\n") == unlimited);
    BOOST_TEST(bytes_of(" 64M\n") == 64 * mib);
}

BOOST_AUTO_TEST_CASE(percentages_are_of_the_given_base) {
    BOOST_TEST(bytes_of("50%", 1000) == 500U);
    BOOST_TEST(bytes_of("12.5%", 1000) == 125U);
    BOOST_TEST(bytes_of("100%", 1000) == 1000U);
    BOOST_TEST(bytes_of("0%", 1000) == 0U);
    BOOST_TEST(bytes_of("33.3%", unlimited - 1) < unlimited / 3);
    BOOST_TEST(bytes_of("50%", unlimited) == unlimited);
    BOOST_TEST((error_of("50%", no_percent_base) == size_error::percent_of_nothing));
    BOOST_TEST((error_of("100.1%") == size_error::over_100_percent));
    BOOST_TEST((error_of("101%") == size_error::over_100_percent));
    BOOST_TEST((error_of("1K50%") == size_error::percent_in_a_sum));
    BOOST_TEST((error_of("50%1K") == size_error::percent_in_a_sum));
    BOOST_TEST(size_is_percentage("50% \n"));
    BOOST_TEST(!size_is_percentage("50"));
    BOOST_TEST(!size_is_percentage("50%%"));
}

BOOST_AUTO_TEST_CASE(what_is_ambiguous_or_wrong_is_refused_with_its_reason) {
    BOOST_TEST((error_of("") == size_error::empty));
    BOOST_TEST((error_of(" \n") == size_error::empty));
    BOOST_TEST((error_of("-1") == size_error::negative));
    BOOST_TEST((error_of("5MB") == size_error::decimal_unit));
    BOOST_TEST((error_of("5kb") == size_error::decimal_unit));
    BOOST_TEST((error_of("1e9") == size_error::exponent));
    BOOST_TEST((error_of("1E+9") == size_error::exponent));
    BOOST_TEST((error_of("0x10") == size_error::unknown_unit));
    BOOST_TEST((error_of("5Mi") == size_error::unknown_unit));
    BOOST_TEST((error_of("5,5M") == size_error::unknown_unit));
    BOOST_TEST((error_of("1.5") == size_error::fraction_of_a_byte));
    BOOST_TEST((error_of("5.") == size_error::not_a_number));
    BOOST_TEST((error_of("M") == size_error::not_a_number));
    BOOST_TEST((error_of("+5M") == size_error::not_a_number));
    BOOST_TEST((error_of("maximum") == size_error::not_a_number));
    BOOST_TEST((error_of("max 1") == size_error::not_a_number));
}

BOOST_AUTO_TEST_CASE(a_size_that_is_not_below_no_limit_is_refused) {
    BOOST_TEST((error_of("4E") == size_error::too_large));
    BOOST_TEST((error_of("16E") == size_error::too_large));
    BOOST_TEST((error_of("3E 1024P") == size_error::too_large));
    BOOST_TEST((error_of("4611686018427387904") == size_error::too_large));
    BOOST_TEST(bytes_of("4611686018427387903") == unlimited - 1);
    BOOST_TEST((error_of("99999999999999999999999999") == size_error::too_large));
}

BOOST_AUTO_TEST_CASE(every_reason_has_a_hint_of_its_own) {
    for (std::uint32_t a = 0; a <= static_cast<std::uint32_t>(size_error::too_large); ++a)
        for (std::uint32_t b = 0; b < a; ++b)
            BOOST_TEST(std::string(size_error_hint(size_error{a})) != size_error_hint(size_error{b}));
}

// With the comma as decimal point, strtod would read "1" here.
BOOST_AUTO_TEST_CASE(the_locale_changes_nothing) {
    const char *set = std::setlocale(LC_ALL, "de_DE.UTF-8");
    if (set == nullptr) BOOST_TEST_MESSAGE("this machine has no German locale; the C locale stands in");
    BOOST_TEST(bytes_of("1.5K") == 1536U);
    std::setlocale(LC_ALL, "C");
}

BOOST_AUTO_TEST_CASE(an_exact_text_reads_back_as_the_same_size) {
    BOOST_TEST(exact(0) == "0");
    BOOST_TEST(exact(4097) == "4097");
    BOOST_TEST(exact(64 * mib) == "64M");
    BOOST_TEST(exact(gib + gib / 2) == "1536M");
    BOOST_TEST(exact(unlimited) == "max");
    std::mt19937_64 random(1);
    for (int i = 0; i < 10000; ++i) {
        const std::uint64_t bytes = (random() % unlimited) >> (random() % 62) << (random() % 20) & (unlimited - 1);
        BOOST_TEST_REQUIRE(bytes_of(exact(bytes).c_str()) == bytes);
    }
}

BOOST_AUTO_TEST_CASE(a_rounded_text_has_one_decimal_and_never_1024_of_a_unit) {
    BOOST_TEST(rounded(0) == "0");
    BOOST_TEST(rounded(1023) == "1023");
    BOOST_TEST(rounded(1024) == "1.0K");
    BOOST_TEST(rounded(64 * mib - 50 * kib) == "64.0M");
    BOOST_TEST(rounded(64 * mib - 60 * kib) == "63.9M");
    BOOST_TEST(rounded(mib - 1) == "1.0M");
    BOOST_TEST(rounded(gib - 1) == "1.0G");
    BOOST_TEST(rounded(unlimited - 1) == "4.0E");
    BOOST_TEST(rounded(unlimited) == "max");
}
