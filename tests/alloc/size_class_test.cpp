#define BOOST_TEST_MODULE size_class
#include <boost/test/unit_test.hpp>

#include "alloc/size_class.hpp"

using namespace allot;

// Each request up to the largest, by definition: the first class that is large enough.
BOOST_AUTO_TEST_CASE(the_class_of_a_size_is_the_least_that_holds_it) {
    unsigned expected = 0;
    std::size_t wrong = 0;
    for (std::size_t bytes = 0; bytes <= medium_max_bytes; ++bytes) {
        while (class_bytes(expected) < bytes) ++expected;
        wrong += class_of(bytes) != expected;
    }
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(expected == nr_classes - 1);
}

BOOST_AUTO_TEST_CASE(classes_grow_in_multiples_of_16_and_waste_at_most_a_fifth) {
    for (unsigned c = 0; c < nr_classes; ++c) {
        BOOST_TEST(class_bytes(c) % granule_bytes == 0u);
        if (c == 0) continue;
        std::size_t least = class_bytes(c - 1) + 1;
        BOOST_TEST(class_bytes(c) > class_bytes(c - 1));
        if (class_bytes(c) > 128)
            BOOST_TEST((class_bytes(c) - least) * 5 <= class_bytes(c), "class " << class_bytes(c));
    }
}

BOOST_AUTO_TEST_CASE(the_table_says_of_every_size_what_the_computation_says) {
    constexpr class_table table = make_class_table();
    std::size_t wrong = 0;
    for (std::size_t bytes = 0; bytes <= medium_max_bytes; ++bytes) {
        std::size_t found = class_in(table, bytes);
        wrong += found != class_of(bytes);
    }
    BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(an_aligned_class_is_the_least_that_holds_the_size_and_the_alignment) {
    std::size_t wrong = 0;
    for (std::size_t alignment = 1; alignment <= medium_max_bytes; alignment *= 2)
        for (std::size_t bytes = 0; bytes <= medium_max_bytes; bytes += bytes < 2048 ? 1 : 61) {
            unsigned found = aligned_class_of(bytes, alignment);
            bool fits = found < nr_classes && class_bytes(found) >= bytes && class_bytes(found) % alignment == 0;
            bool least = true;
            for (unsigned c = 0; c < found && c < nr_classes; ++c)
                least = least && (class_bytes(c) < bytes || class_bytes(c) % alignment != 0);
            wrong += !fits || !least;
        }
    BOOST_TEST(wrong == 0u);
}
