#define BOOST_TEST_MODULE page_source
#include <boost/test/unit_test.hpp>

#include "alloc/page_source.hpp"
#include "tests/support/allocated.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

using namespace allot;

namespace {

char *bytes_of(std::uint32_t unit) { return reinterpret_cast<char *>(address_of(slab_at(unit))); }

bool is_zero(std::uint32_t first, std::uint32_t count) {
    for (std::size_t i = 0; i < std::size_t{count} << unit_shift; i += 64)
        if (bytes_of(first)[i] != 0) return false;
    return true;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_run_is_contiguous_below_the_frontier_and_belongs_to_one, allocated) {
    unit_run a = units_alloc(3), b = units_alloc(5);
    BOOST_TEST(a.first != 0u);
    BOOST_TEST(b.first != 0u);
    BOOST_TEST((a.first + 3 <= b.first || b.first + 5 <= a.first));
    BOOST_TEST(std::max(a.first + 3, b.first + 5) <= arena_frontier());
    units_free(a.first, 3);
    units_free(b.first, 5);
}

BOOST_FIXTURE_TEST_CASE(what_is_called_clean_is_zero_also_after_dirty_reuse_and_purge, allocated) {
    unit_run fresh = units_alloc(2);
    BOOST_TEST((!fresh.clean || is_zero(fresh.first, 2)));
    std::memset(bytes_of(fresh.first), 0xa5, 2 * unit_bytes);
    units_free(fresh.first, 2);
    unit_run again = units_alloc(2); // the lowest dirty one comes first
    BOOST_TEST(again.first == fresh.first);
    BOOST_TEST(!again.clean);
    units_free(again.first, 2);
    BOOST_TEST(units_purge(0) >= 2u);
    BOOST_TEST(units_statistics().dirty_free == 0u);
    unit_run purged = units_alloc(2);
    BOOST_TEST(purged.clean);
    BOOST_TEST(is_zero(purged.first, 2));
    units_free(purged.first, 2);
}

BOOST_FIXTURE_TEST_CASE(a_purge_keeps_as_many_as_it_is_told_and_no_more, allocated) {
    units_purge(0);
    unit_run run = units_alloc(10);
    units_free(run.first, 10);
    std::uint32_t dirty = units_statistics().dirty_free;
    BOOST_TEST(dirty == 10u);
    BOOST_TEST(units_purge(4) == 6u);
    BOOST_TEST(units_statistics().dirty_free == 4u);
    BOOST_TEST(units_purge(4) == 0u);
}

BOOST_FIXTURE_TEST_CASE(free_dirty_units_are_bounded_without_being_asked, allocated) {
    unit_run run = units_alloc(400);
    BOOST_TEST_REQUIRE(run.first != 0u);
    units_free(run.first, 400);
    BOOST_TEST(units_statistics().dirty_free <= 128u);
}

BOOST_FIXTURE_TEST_CASE(alignments_hold_from_two_units_to_a_gibibyte, allocated) {
    for (std::size_t alignment = 2 * unit_bytes; alignment <= std::size_t{1} << 30; alignment *= 2) {
        unit_run run = units_alloc_aligned(2, alignment);
        BOOST_TEST_REQUIRE(run.first != 0u);
        BOOST_TEST(address_of(slab_at(run.first)) % alignment == 0u);
        units_free(run.first, 2);
    }
    BOOST_TEST(units_alloc_aligned(1, arena_max_bytes * 4).first == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_run_grows_into_free_units_and_not_into_those_of_others, allocated) {
    unit_run run = units_alloc(4);
    units_free(run.first + 2, 2); // now its two successors are free
    BOOST_TEST(units_extend(run.first, 2, 2));
    units_free(run.first + 3, 1);
    std::uint32_t free = units_statistics().free;
    BOOST_TEST(!units_extend(run.first, 2, 2)); // the first of them is taken
    BOOST_TEST(units_statistics().free == free);
    BOOST_TEST(!units_extend(run.first, 3, arena_frontier()));
    units_free(run.first, 3);
}

BOOST_FIXTURE_TEST_CASE(more_than_there_can_be_is_refused_and_changes_nothing, allocated) {
    unit_statistics before = units_statistics();
    BOOST_TEST(units_alloc(static_cast<std::uint32_t>(arena_max_units)).first == 0u);
    BOOST_TEST(units_statistics().mapped == before.mapped);
    BOOST_TEST(units_statistics().free == before.free);
}

// A model of who has which unit: no run is given twice, none is lost, and clean ones are zero.
BOOST_FIXTURE_TEST_CASE(random_runs_never_overlap_and_all_come_back, allocated) {
    std::mt19937 random(1);
    std::map<std::uint32_t, std::uint32_t> held; // first, count
    std::vector<bool> taken(1 << 16);
    for (int step = 0; step < 4000; ++step) {
        if (held.size() < 40 && random() % 3 != 0) {
            std::uint32_t count = random() % 4 != 0 ? 1 : 1 + random() % 12;
            std::size_t alignment = random() % 5 == 0 ? unit_bytes << (1 + random() % 4) : unit_bytes;
            unit_run run = alignment > unit_bytes ? units_alloc_aligned(count, alignment) : units_alloc(count);
            BOOST_TEST_REQUIRE(run.first != 0u);
            BOOST_TEST_REQUIRE(address_of(slab_at(run.first)) % alignment == 0u);
            for (std::uint32_t i = run.first; i < run.first + count; ++i) {
                BOOST_TEST_REQUIRE(!taken[i]);
                taken[i] = true;
                if (run.clean) BOOST_TEST_REQUIRE(bytes_of(i)[unit_bytes / 2] == 0);
                bytes_of(i)[unit_bytes / 2] = 1;
            }
            held[run.first] = count;
        } else if (!held.empty()) {
            auto victim = std::next(held.begin(), static_cast<long>(random() % held.size()));
            for (std::uint32_t i = victim->first; i < victim->first + victim->second; ++i) taken[i] = false;
            units_free(victim->first, victim->second);
            held.erase(victim);
        }
        if (step % 500 == 0) units_purge(random() % 20);
    }
    for (auto [first, count] : held) units_free(first, count);
}
