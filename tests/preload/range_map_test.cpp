// The tree against a map of bytes: every operation is done to both, and they must agree byte by byte.
#define BOOST_TEST_MODULE range_map
#include "preload/range_map.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>
#include <vector>

using namespace allot;

namespace {

std::map<std::uint32_t, long> references;
void grab(std::uint32_t owner) { ++references[owner]; }
void put(std::uint32_t owner) { --references[owner]; }

struct cell {
    bool present = false;
    std::uint32_t owner = 0;
    range_state state = range_state::reserved;
    bool operator==(const cell &) const = default;
};
using byte_map = std::vector<cell>;

void write(byte_map &bytes, const mapped_range &range) {
    for (auto at = range.start; at < range.end; ++at) bytes[at] = {true, range.owner, range.state};
}

struct fixture {
    static constexpr std::size_t space = 400;
    range_map ranges{{grab, put}};
    byte_map model{space};

    fixture() { references.clear(); }

    byte_map bytes_of(range_map::node *tree) {
        byte_map bytes(space);
        range_map::for_each(tree, [&](const range_map::node &n) { write(bytes, n); });
        return bytes;
    }
    std::vector<mapped_range> list() {
        std::vector<mapped_range> all;
        ranges.for_each([&](const range_map::node &n) { all.push_back(n); });
        return all;
    }
    byte_map model_part(std::uintptr_t start, std::uintptr_t end) {
        byte_map part(space);
        for (auto at = start; at < end; ++at) std::swap(part[at], model[at]);
        return part;
    }
    // Order, no overlap, nothing that should be one range, one reference a range.
    void check() {
        const auto all = list();
        byte_map bytes(space);
        std::map<std::uint32_t, long> expected;
        for (std::size_t i = 0; i < all.size(); ++i) {
            BOOST_REQUIRE_LT(all[i].start, all[i].end);
            if (i > 0) {
                BOOST_REQUIRE_LE(all[i - 1].end, all[i].start);
                BOOST_REQUIRE(all[i - 1].end != all[i].start || all[i - 1].owner != all[i].owner ||
                              all[i - 1].state != all[i].state);
            }
            write(bytes, all[i]);
            if (all[i].owner) ++expected[all[i].owner];
        }
        BOOST_REQUIRE(bytes == model);
        for (const auto &[owner, count] : references) BOOST_REQUIRE_EQUAL(count, expected[owner]);
    }
};

constexpr auto W = range_state::writable;
constexpr auto R = range_state::reserved;

} // namespace

BOOST_FIXTURE_TEST_CASE(a_cut_in_the_middle_leaves_both_ends_with_their_owner, fixture) {
    BOOST_REQUIRE(ranges.reserve(3));
    ranges.insert({10, 50, 7, W});
    range_map::node *middle = ranges.cut(20, 30);
    BOOST_REQUIRE(middle);
    BOOST_TEST(middle->start == 20u);
    BOOST_TEST(middle->end == 30u);
    ranges.drop(middle);
    const auto all = list();
    BOOST_REQUIRE_EQUAL(all.size(), 2u);
    BOOST_TEST(all[0].end == 20u);
    BOOST_TEST(all[1].start == 30u);
    BOOST_TEST(references[7] == 2);
}

BOOST_FIXTURE_TEST_CASE(what_is_pasted_back_joins_what_it_was_cut_from, fixture) {
    BOOST_REQUIRE(ranges.reserve(3));
    ranges.insert({10, 50, 7, W});
    ranges.paste(ranges.cut(20, 30), 20, 30);
    BOOST_TEST(list().size() == 1u);
    BOOST_TEST(references[7] == 1);
}

BOOST_FIXTURE_TEST_CASE(neighbours_of_other_owners_or_states_stay_apart, fixture) {
    BOOST_REQUIRE(ranges.reserve(4));
    ranges.insert({10, 20, 7, W});
    ranges.insert({20, 30, 8, W});
    ranges.insert({30, 40, 8, R});
    ranges.insert({40, 50, 8, R});
    BOOST_TEST(list().size() == 3u);
    BOOST_TEST(ranges.contains(49));
    BOOST_TEST(!ranges.contains(50));
    BOOST_TEST(!ranges.contains(9));
}

BOOST_FIXTURE_TEST_CASE(ranges_that_become_alike_inside_a_cut_are_joined_by_tidy, fixture) {
    BOOST_REQUIRE(ranges.reserve(8));
    ranges.insert({10, 20, 7, W});
    ranges.insert({20, 30, 0, R});
    ranges.insert({30, 40, 7, W});
    range_map::node *cut = ranges.cut(10, 40);
    range_map::for_each(cut, [&](range_map::node &n) { ranges.assign(n, 7, W); });
    ranges.paste(cut, 10, 40);
    ranges.tidy(10, 40);
    BOOST_TEST(list().size() == 1u);
    BOOST_TEST(references[7] == 1);
}

BOOST_FIXTURE_TEST_CASE(a_shifted_cut_lies_elsewhere_and_is_otherwise_the_same, fixture) {
    BOOST_REQUIRE(ranges.reserve(4));
    ranges.insert({10, 20, 7, W});
    ranges.insert({20, 30, 0, R});
    range_map::node *moving = ranges.cut(10, 30);
    range_map::shift(moving, 90);
    ranges.paste(moving, 100, 120);
    range_map::node *moved = ranges.cut(100, 120);
    range_map::shift(moved, -100);
    ranges.paste(moved, 0, 20);
    const auto all = list();
    BOOST_REQUIRE_EQUAL(all.size(), 2u);
    BOOST_TEST(all[0].start == 0u);
    BOOST_TEST(all[1].end == 20u);
    BOOST_TEST(all[1].owner == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_child_pays_for_nothing_and_puts_no_reference_of_its_parent, fixture) {
    BOOST_REQUIRE(ranges.reserve(6));
    ranges.insert({10, 50, 7, W});
    ranges.disown_all();
    BOOST_TEST((list().at(0).state == range_state::inherited));
    BOOST_TEST(list().at(0).owner == 7u); // who paid, for whom is told when it goes
    ranges.drop(ranges.cut(20, 30));
    ranges.drop(ranges.cut(10, 50));
    BOOST_TEST(references[7] == 1);
    BOOST_TEST(list().empty());
}

BOOST_FIXTURE_TEST_CASE(random_operations_agree_with_a_map_of_bytes, fixture) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        for (int step = 0; step < 2000; ++step) {
            auto start = static_cast<std::uintptr_t>(random() % space);
            auto end = static_cast<std::uintptr_t>(random() % space);
            if (start > end) std::swap(start, end);
            if (start == end) continue;
            const std::uint32_t owner = random() % 3;
            const range_state state = random() % 2 ? W : R;
            BOOST_REQUIRE(ranges.reserve(3));
            range_map::node *cut = ranges.cut(start, end);
            const byte_map cut_model = model_part(start, end);
            BOOST_REQUIRE(bytes_of(cut) == cut_model);
            switch (random() % 3) {
            case 0: // replace
                ranges.drop(cut);
                ranges.insert({start, end, owner, state});
                write(model, {start, end, owner, state});
                break;
            case 1: // remove
                ranges.drop(cut);
                break;
            case 2: // change the reserved parts and put back
                range_map::for_each(cut, [&](range_map::node &n) {
                    if (n.state == R) ranges.assign(n, owner, state);
                });
                ranges.paste(cut, start, end);
                ranges.tidy(start, end);
                for (auto at = start; at < end; ++at)
                    if (cut_model[at].present)
                        model[at] = cut_model[at].state == R ? cell{true, owner, state} : cut_model[at];
                break;
            }
            check();
        }
    }
}

BOOST_FIXTURE_TEST_CASE(ten_thousand_ranges_come_and_go, fixture) {
    for (std::uintptr_t i = 0; i < 10000; ++i) {
        BOOST_REQUIRE(ranges.reserve(1));
        ranges.insert({i * 16, i * 16 + 8, 1 + static_cast<std::uint32_t>(i % 5), W});
    }
    BOOST_TEST(list().size() == 10000u);
    BOOST_REQUIRE(ranges.reserve(2));
    ranges.drop(ranges.cut(0, 160000));
    BOOST_TEST(list().empty());
    for (const auto &[owner, count] : references) BOOST_TEST(count == 0);
}
