#define BOOST_TEST_MODULE arena
#include <boost/test/unit_test.hpp>

#include "alloc/page_source.hpp"
#include "tests/support/allocated.hpp"

#include <cstring>

using namespace allot;

BOOST_AUTO_TEST_CASE(before_the_start_nothing_is_inside_and_the_first_header_has_no_slot) {
    int outside;
    BOOST_TEST(!arena_contains(&outside));
    BOOST_TEST(!arena_contains(nullptr));
    BOOST_TEST(granule_of(nullptr) >= arena.granules);
    BOOST_TEST((slab_at(0)->list & 1) == 1u);
    BOOST_TEST((always_empty_slab.list & 1) == 1u);
}

BOOST_FIXTURE_TEST_CASE(after_the_start_the_first_header_has_no_slot_and_no_owner, allocated) {
    slab *never = slab_at(0);
    BOOST_TEST((never->list & 1) == 1u);
    BOOST_TEST(never->owner == nobody);
    BOOST_TEST((never->kind == unit_kind::abandoned));
}

BOOST_FIXTURE_TEST_CASE(units_and_headers_name_each_other, allocated) {
    for (std::uint32_t unit = 0; unit < arena_frontier(); ++unit) {
        slab *s = slab_at(unit);
        BOOST_TEST_REQUIRE(unit_of(s) == unit);
        BOOST_TEST_REQUIRE(address_of(s) % unit_bytes == 0u);
        BOOST_TEST_REQUIRE(slab_of(reinterpret_cast<void *>(address_of(s) + unit_bytes - 1)) == s);
    }
}

BOOST_FIXTURE_TEST_CASE(one_comparison_tells_what_is_outside_or_unaligned, allocated) {
    auto inside = [](std::uintptr_t address) { return granule_of(reinterpret_cast<void *>(address)) < arena.granules; };
    std::uintptr_t end = arena.base + (arena.granules << 4);
    BOOST_TEST(inside(arena.base + unit_bytes));
    BOOST_TEST(inside(end - granule_bytes));
    BOOST_TEST(!inside(end));
    BOOST_TEST(!inside(arena.base - granule_bytes));
    BOOST_TEST(!inside(0));
    for (std::uintptr_t offset = 1; offset < granule_bytes; ++offset)
        BOOST_TEST(!inside(arena.base + unit_bytes + offset));
    BOOST_TEST(arena_contains(reinterpret_cast<void *>(arena.base + unit_bytes + 1)));
    BOOST_TEST(!arena_contains(reinterpret_cast<void *>(end)));
}

BOOST_FIXTURE_TEST_CASE(what_it_grows_by_is_zero_and_its_headers_say_free, allocated) {
    std::uint32_t before = arena_frontier();
    unit_run run = units_alloc(before + 1); // more than there is
    BOOST_TEST_REQUIRE(run.first != 0u);
    BOOST_TEST(arena_frontier() > before);
    for (std::uint32_t unit = run.first + before + 1; unit < arena_frontier(); ++unit) {
        BOOST_TEST_REQUIRE((slab_at(unit)->kind == unit_kind::free));
        BOOST_TEST_REQUIRE(slab_at(unit)->owner == nobody);
    }
    const char *last = reinterpret_cast<const char *>(address_of(slab_at(arena_frontier() - 1)));
    for (std::size_t i = 0; i < unit_bytes; i += 512) BOOST_TEST_REQUIRE(last[i] == 0);
    units_free(run.first, before + 1, 0);
}
