// What tells the releases apart, counted where the figures are known: the seeds' experiments, by the engine alone.
#define BOOST_TEST_MODULE releases
#include <boost/test/unit_test.hpp>

#include "accounting/linux/engines.hpp"

#include <cmath>
#include <vector>

using namespace allot::memcg;

namespace {

// One CPU in one leaf, that allocates objects of a size in bursts and frees them last in, first out.
class bursts {
public:
    template<typename Variant>
    static bursts of() {
        return bursts(make_engine<Variant>({1}));
    }
    // The root, one level and the leaf: three counters. Their usage stays above what is protected of both.
    void protect() {
        (void)engine_->charge_pages(here(), leaf_, 10000);
        engine_->set_protection(*leaf_.parent, 100, 100);
        engine_->set_protection(leaf_, 100, 100);
    }
    // What one allocation and its free are counted for, once stocks are warm.
    tally counts_of(int nr_bursts, int burst, std::int64_t size) {
        run(4, burst, size);
        tally before = engine_->counts();
        run(nr_bursts, burst, size);
        return engine_->counts() -= before;
    }
    double shared(int burst, std::int64_t size = 4096) {
        return static_cast<double>(counts_of(64, burst, size).shared()) / (64 * burst);
    }

private:
    explicit bursts(std::unique_ptr<any_engine> engine)
        : engine_(std::move(engine)), leaf_(engine_->create(engine_->create(engine_->root()))) {}
    cpu &here() { return engine_->cpu_of(0); }
    void run(int nr_bursts, int burst, std::int64_t size) {
        for (; nr_bursts > 0; --nr_bursts) {
            for (int i = 0; i < burst; ++i) (void)engine_->charge(here(), *leaf_.own, size);
            for (int i = 0; i < burst; ++i) engine_->uncharge(here(), *leaf_.own, size);
        }
    }
    std::unique_ptr<any_engine> engine_;
    group &leaf_;
};

template<typename Variant>
double shared_of_a_pair() {
    return bursts::of<Variant>().shared(1);
}
template<typename Variant>
double shared_of_a_protected_burst() {
    bursts b = bursts::of<Variant>();
    b.protect();
    return b.shared(512);
}

} // namespace

// Two of the owner's spare bytes and two of the stock's reference.
BOOST_AUTO_TEST_CASE(a_pair_of_4_KiB_writes_4_shared_words_before_5_14_and_none_since) {
    BOOST_TEST(shared_of_a_pair<linux_5_13>() == 4);
    BOOST_TEST(shared_of_a_pair<linux_5_14_before>() == 4);
    BOOST_TEST(shared_of_a_pair<linux_5_14>() == 0);
    BOOST_TEST(shared_of_a_pair<linux_2026>() == 0);
}

BOOST_AUTO_TEST_CASE(with_v1s_second_counters_it_is_10_before_and_6_since) {
    BOOST_TEST(shared_of_a_pair<linux_5_14_before_v1>() == 10);
    BOOST_TEST(shared_of_a_pair<linux_5_14_v1>() == 6);
}

BOOST_AUTO_TEST_CASE(pairs_leave_all_statistics_in_the_stock_where_it_collects_them) {
    BOOST_TEST(bursts::of<linux_5_13>().counts_of(1000, 1, 4096).flushed() == 2000u);
    BOOST_TEST(bursts::of<linux_5_14_before>().counts_of(1000, 1, 4096).flushed() == 0u);
    BOOST_TEST(bursts::of<linux_5_14>().counts_of(1000, 1, 4096).flushed() == 0u);
}

BOOST_AUTO_TEST_CASE(a_burst_of_512_shows_A_and_C) {
    BOOST_TEST(shared_of_a_protected_burst<linux_6_0>() == 0.444, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_protected_burst<linux_6_0_a>() == 0.190, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_protected_burst<linux_6_0_c>() == 0.220, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_protected_burst<linux_6_1>() == 0.095, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_protected_burst<linux_6_1_v1>() == 4.60, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_protected_burst<linux_5_14_before>() == 8.43, boost::test_tools::tolerance(0.01));
}

namespace {

// An allocation's read-modify-writes of the owner's spare bytes, pages charged, and walks of v1's second counters, free
// included.
struct cost_of_one {
    double spare, pages, walks;
};
template<typename Variant>
cost_of_one measured(std::int64_t size, int burst) {
    constexpr int nr_bursts = 256;
    tally t = bursts::of<Variant>().counts_of(nr_bursts, burst, size);
    auto each = [&](std::uint64_t n) { return static_cast<double>(n) / (nr_bursts * burst); };
    return {each(t.spare_bytes), each(t.pages_charged), each(t.kernel_usage) / 3};
}
void check(cost_of_one is, cost_of_one expected) { // to the digits that are written down
    BOOST_TEST(std::abs(is.spare - expected.spare) <= 0.0051, is.spare << " instead of " << expected.spare);
    BOOST_TEST(std::abs(is.pages - expected.pages) <= 0.0051, is.pages << " instead of " << expected.pages);
    BOOST_TEST(std::abs(is.walks - expected.walks) <= 0.051, is.walks << " instead of " << expected.walks);
}

struct row {
    std::int64_t size;
    cost_of_one before[3], since[3]; // pairs, bursts of 8, bursts of 64
};
constexpr cost_of_one none{0, 0, 0};

} // namespace

// Below half a page, pairs show nothing: what a stock of a page covers was never expensive.
BOOST_AUTO_TEST_CASE(what_5_14_saves_depends_on_sizes_and_bursts) {
    constexpr row table[] = {
        {64, {none, none, {0.03, 0.02, 0.03}}, {none, none, {0, 0.02, 0.03}}},
        {256, {none, none, {0.13, 0.06, 0.13}}, {none, none, {0, 0.06, 0.13}}},
        {1024, {none, {0.50, 0.25, 0.50}, {0.50, 0.25, 0.50}}, {none, {0, 0.25, 0.50}, {0, 0.25, 0.50}}},
        {2048, {none, {1.0, 0.50, 1.0}, {1.0, 0.50, 1.0}}, {none, {0, 0.50, 1.0}, {0, 0.50, 1.0}}},
        {4096, {{2.0, 2.0, 2.0}, {3.75, 2.0, 2.9}, {3.97, 2.0, 3.0}}, {{0, 2.0, 2.0}, {0, 1.25, 1.6}, {0, 1.03, 1.5}}},
        {8192, {{2.0, 3.0, 2.0}, {3.75, 3.0, 2.9}, {3.97, 3.0, 3.0}}, {{0, 3.0, 2.0}, {0, 2.25, 1.75}, {0, 2.02, 1.7}}},
    };
    constexpr int burst_sizes[] = {1, 8, 64};
    for (const row &r : table)
        for (std::size_t i = 0; i < 3; ++i) {
            BOOST_TEST_CONTEXT(r.size << " bytes, bursts of " << burst_sizes[i]) {
                check(measured<linux_5_13_v1>(r.size, burst_sizes[i]), r.before[i]);
                check(measured<linux_5_14_v1>(r.size, burst_sizes[i]), r.since[i]);
            }
        }
}

namespace {

// Serves leaves in turn, and counts.
template<typename Variant, typename Serve>
tally in_turn(int nr_leaves, Serve serve) {
    auto e = make_engine<Variant>({1});
    std::vector<group *> leaves;
    for (int i = 0; i < nr_leaves; ++i) leaves.push_back(&e->create(e->root()));
    for (int round = 0; round < 1000; ++round)
        for (group *g : leaves) serve(*e, *g);
    return e->counts();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_page_stock_of_seven_serves_owners_in_turn_where_one_slot_thrashes) {
    auto three_pages = [](any_engine &e, group &g) {
        (void)e.charge_pages(e.cpu_of(0), g, 3);
        e.uncharge_pages(e.cpu_of(0), g, 3);
    };
    BOOST_TEST(in_turn<linux_6_1>(6, three_pages).walks == 11999u); // each charges anew and drains the one before
    BOOST_TEST(in_turn<linux_6_16>(6, three_pages).walks == 6u);
}

BOOST_AUTO_TEST_CASE(a_byte_stock_of_five_keeps_five_owners) {
    auto an_object = [](any_engine &e, group &g) {
        (void)e.charge(e.cpu_of(0), *g.own, 64);
        e.uncharge(e.cpu_of(0), *g.own, 64);
    };
    BOOST_TEST(in_turn<linux_6_16>(5, an_object).references == 9999u); // taken each time, put by the next
    BOOST_TEST(in_turn<linux_2026>(5, an_object).references == 5u);
}
