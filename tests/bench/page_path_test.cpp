// What a message costs each engine in read-modify-writes of shared lines and in walks to the root: the same in every run,
// since one thread plays all CPUs. A count a message is the difference of a run and one of twice its length.
#define BOOST_TEST_MODULE page_path
#include <boost/test/unit_test.hpp>

#include "bench/page_path.hpp"
#include "bench/page_tree.hpp"

#include <cstdlib>
#include <string>

using namespace allot::bench;

namespace {

constexpr std::uint64_t messages = 42 * 24; // windows of 128 pages have 42
const auto close_to = boost::test_tools::tolerance(0.02);

struct setting {
    double cross = 0.5;
    std::uint32_t window_pages = 128;
    receive_charge receive = receive_charge::by_receiver;
    bool is_protected = true;
    std::uint32_t pairs = 1, levels = 3;
};

double total(const std::string &variant, const setting &s, std::uint64_t length, const char *count) {
    const tree_shape shape{.cpus = 2 * s.pairs, .levels = s.levels, .is_protected = s.is_protected};
    const path_shape path{.window_pages = s.window_pages, .cross = s.cross, .receive = s.receive};
    return with_tree(variant, shape, [&](auto &tree) {
        {
            pairs_in_turn pairs(tree, s.pairs, path);
            pairs.run(length);
        }
        tree.verify_empty();
        return static_cast<double>(count_named(tree.counted(0), count));
    });
}

double a_message(const char *count, const std::string &variant, const setting &s = {}) {
    return (total(variant, s, 2 * messages, count) - total(variant, s, messages, count)) /
           static_cast<double>(messages * s.pairs);
}

double walks_of_leaves(const std::string &variant, std::uint32_t leaves, leaf_order order) {
    constexpr std::uint64_t served = 36 * 600;
    return with_tree(variant, {.leaves = leaves}, [&](auto &tree) {
        const path_shape path;
        {
            leaf_server server(tree, leaves, order, path);
            server.run(served);
        }
        tree.verify_empty();
        return static_cast<double>(count_named(tree.counted(0), "walks")) / static_cast<double>(served);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(each_change_of_6_1_saves_shared_writes_and_allot_makes_fewest) {
    for (double cross : {0.0, 0.5, 1.0}) {
        BOOST_TEST_CONTEXT("cross " << cross) {
            const setting s{.cross = cross};
            const double before = a_message("shared", "linux_6_0", s), a = a_message("shared", "linux_6_0_a", s),
                         b = a_message("shared", "linux_6_0_b", s), c = a_message("shared", "linux_6_0_c", s),
                         after = a_message("shared", "linux_6_1", s), allot = a_message("shared", "allot", s);
            BOOST_TEST_MESSAGE("cross " << cross << ": 6.0 " << before << " A " << a << " B " << b << " C " << c
                                        << " ABC " << after << " allot " << allot);
            BOOST_TEST(a_message("shared", "null", s) == 0);
            BOOST_TEST(allot < after);
            BOOST_TEST(after < a);
            BOOST_TEST(after < c);
            BOOST_TEST(a < before);
            BOOST_TEST(c < before);
            BOOST_TEST(b == before); // a layout saves no write, only what writes disturb
        }
    }
}

// Both CPUs of a pair only take, or only give. The sender's charges 3 pages a message, a walk a batch. The receiver's takes a
// batch for the first receive queue, and the next acknowledgement overflows it: two walks for 6 messages. A walk writes 4
// levels; until A, it exchanges min and low of the one that has them.
BOOST_AUTO_TEST_CASE(what_is_acknowledged_elsewhere_costs_what_arithmetic_says) {
    const setting s{.cross = 1};
    BOOST_TEST(a_message("walks", "linux_6_0", s) == 3.0 / 32 + 2.0 / 6, close_to);
    BOOST_TEST(a_message("shared", "linux_6_0", s) == (3.0 / 32 + 2.0 / 6) * 6, close_to);
    BOOST_TEST(a_message("shared", "linux_6_0_a", s) == (3.0 / 32 + 2.0 / 6) * 4, close_to);
    BOOST_TEST(a_message("shared", "linux_6_0_c", s) == (3.0 / 64 + 2.0 / 6) * 6, close_to);
    BOOST_TEST(a_message("shared", "linux_6_1", s) == (3.0 / 64 + 2.0 / 6) * 4, close_to);
    BOOST_TEST(a_message("page_stock_drains", "linux_6_1", s) == 1.0 / 6, close_to);
}

// allot's receiver gives back what is beyond two batches down to one, and never all: a batch of 64 pages is one walk on
// either side.
BOOST_AUTO_TEST_CASE(allot_walks_once_a_batch_on_either_side_at_most) {
    BOOST_TEST(a_message("walks", "allot", {.cross = 1}) == 2 * 3.0 / 64, boost::test_tools::tolerance(0.2));
    BOOST_TEST(a_message("walks", "allot", {.cross = 0, .window_pages = 32}) == 0);
}

// As a loopback device has it: the sender's CPU charges the receive queue too, so that the receiver's only gives.
BOOST_AUTO_TEST_CASE(a_larger_batch_halves_the_walks_of_cpus_that_only_take_or_only_give) {
    const setting s{.cross = 1, .receive = receive_charge::by_sender};
    BOOST_TEST(a_message("walks", "linux_6_1", s) / a_message("walks", "linux_6_1_batch_32", s) == 0.5,
               boost::test_tools::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(nothing_is_told_about_protection_where_there_is_none) {
    BOOST_TEST(a_message("protection", "linux_6_0", {.is_protected = false}) == 0);
    BOOST_TEST(a_message("protection", "linux_6_0") > 0);
    BOOST_TEST(a_message("protection", "linux_6_0_a") == 0);
}

BOOST_AUTO_TEST_CASE(pairs_do_not_change_each_others_counts) {
    for (const char *variant : {"linux_6_1", "allot"})
        BOOST_TEST(a_message("shared", variant, {.pairs = 5}) == a_message("shared", variant), close_to);
}

BOOST_AUTO_TEST_CASE(each_level_is_one_more_write_a_walk) {
    for (const char *variant : {"linux_6_1", "allot"})
        BOOST_TEST(a_message("shared", variant, {.levels = 7}) == 2 * a_message("shared", variant), close_to);
}

// The change of 2025: a CPU that serves more leaves than its stock has slots charges each message anew, and drains another.
BOOST_AUTO_TEST_CASE(one_slot_walks_twice_a_message_seven_serve_seven_leaves_and_allot_any_number) {
    BOOST_TEST(walks_of_leaves("linux_6_1", 6, leaf_order::in_turn) == 2, close_to);
    BOOST_TEST(walks_of_leaves("linux_6_16", 6, leaf_order::in_turn) < 0.01);
    BOOST_TEST(walks_of_leaves("linux_6_16", 36, leaf_order::in_turn) == 2, boost::test_tools::tolerance(0.05));
    const double by_chance = walks_of_leaves("linux_6_16", 36, leaf_order::random);
    BOOST_TEST(by_chance > 1);
    BOOST_TEST(by_chance < walks_of_leaves("linux_6_1", 36, leaf_order::random));
    for (std::uint32_t leaves : {1u, 6u, 36u, 360u}) {
        BOOST_TEST(walks_of_leaves("allot", leaves, leaf_order::in_turn) < 0.04);
        BOOST_TEST(walks_of_leaves("allot", leaves, leaf_order::random) < 0.04);
    }
}
