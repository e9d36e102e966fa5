// Cases by hand, and many random ones against fnmatch in the C locale.
#define BOOST_TEST_MODULE glob
#include "preload/glob.hpp"

#include <boost/test/unit_test.hpp>

#include <fnmatch.h>
#include <random>
#include <string>

using allot::glob_match;

BOOST_AUTO_TEST_CASE(a_name_without_wildcards_matches_itself_alone) {
    BOOST_TEST(glob_match("worker", "worker"));
    BOOST_TEST(!glob_match("worker", "worker1"));
    BOOST_TEST(!glob_match("worker", "worke"));
    BOOST_TEST(glob_match("", ""));
    BOOST_TEST(!glob_match("", "a"));
}

BOOST_AUTO_TEST_CASE(a_star_matches_any_length_and_every_character) {
    BOOST_TEST(glob_match("*", ""));
    BOOST_TEST(glob_match("io-*", "io-"));
    BOOST_TEST(glob_match("io-*", "io-/1:2"));
    BOOST_TEST(glob_match("*a*b*", "xxaxxaxxb"));
    BOOST_TEST(!glob_match("*a*b", "ba"));
    BOOST_TEST(glob_match("a**b", "ab"));
}

BOOST_AUTO_TEST_CASE(sets_have_ranges_inversion_and_a_first_bracket) {
    BOOST_TEST(glob_match("pool-[0-9]", "pool-7"));
    BOOST_TEST(!glob_match("pool-[0-9]", "pool-x"));
    BOOST_TEST(glob_match("[!ab]", "c"));
    BOOST_TEST(!glob_match("[^ab]", "a"));
    BOOST_TEST(glob_match("[]]", "]"));
    BOOST_TEST(glob_match("[a-]", "-"));
    BOOST_TEST(glob_match("[!]a]", "b"));
}

BOOST_AUTO_TEST_CASE(an_unfinished_set_stands_for_itself) {
    BOOST_TEST(glob_match("[ab", "[ab"));
    BOOST_TEST(!glob_match("[ab", "a"));
}

BOOST_AUTO_TEST_CASE(a_backslash_takes_the_meaning_away) {
    BOOST_TEST(glob_match("\\*", "*"));
    BOOST_TEST(!glob_match("\\*", "a"));
    BOOST_TEST(glob_match("a\\", "a\\"));
}

BOOST_AUTO_TEST_CASE(random_patterns_agree_with_libc) {
    std::mt19937 random(1);
    const std::string letters = "ab*?[]!-";
    int matches = 0;
    for (int i = 0; i < 200000; ++i) {
        std::string pattern, text;
        for (auto n = random() % 7; n > 0; --n) pattern += letters[random() % letters.size()];
        for (auto n = random() % 6; n > 0; --n) text += "ab-"[random() % 3];
        // What a range without ends or a reversed one means is nobody's promise.
        if (pattern.find('-') != std::string::npos && pattern.find('[') != std::string::npos) continue;
        const bool expected = fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
        BOOST_REQUIRE_MESSAGE(glob_match(pattern.c_str(), text.c_str()) == expected, pattern << " on " << text);
        matches += expected;
    }
    BOOST_TEST(matches > 1000);
}

BOOST_AUTO_TEST_CASE(many_stars_take_no_exponential_time) {
    const std::string text(200, 'a');
    std::string pattern;
    for (int i = 0; i < 100; ++i) pattern += "*a";
    BOOST_TEST(!glob_match((pattern + "b").c_str(), text.c_str()));
    BOOST_TEST(glob_match(pattern.c_str(), text.c_str()));
}
