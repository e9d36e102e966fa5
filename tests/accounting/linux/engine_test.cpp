// The rules that hold for every variant, on every variant; and what tells them apart, counted.
#define BOOST_TEST_MODULE engine
#include <boost/test/unit_test.hpp>

#include "tests/accounting/linux/any_engine.hpp"

#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace allot::memcg;

namespace {

// The tree of all cases: / - top - middle - leaf, and a second leaf.
constexpr int root = 0, top = 1, middle = 2, leaf = 3, other = 4;

class world {
public:
    world(engine_maker make, unsigned cpus, std::uint32_t nodes = 1) : engine_(make(cpus, nodes)), nr_cpus_(cpus) {
        engine_->create(root);
        engine_->create(top);
        engine_->create(middle);
        engine_->create(middle);
    }
    any_engine *operator->() const { return engine_.get(); }

    void take_all_off_line() const {
        for (unsigned i = 0; i < nr_cpus_; ++i) engine_->take_off_line(i);
    }
    // Bytes that a leaf is charged for and that neither objects (live, with overhead) nor stocks explain.
    [[nodiscard]] std::int64_t unexplained(int g, std::int64_t live) const {
        std::int64_t bytes = live + engine_->bytes_in_stocks(g) + engine_->spare_bytes(g);
        return (engine_->usage(g) - engine_->pages_in_stocks(g)) * page_bytes - bytes;
    }

private:
    std::unique_ptr<any_engine> engine_;
    unsigned nr_cpus_;
};

} // namespace

BOOST_AUTO_TEST_CASE(pages_charged_are_objects_and_stocks_at_every_moment) {
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, 3);
        BOOST_TEST_CONTEXT(w->name()) {
            std::mt19937 random(5);
            std::vector<std::int64_t> live;
            std::int64_t bytes = 0;
            for (int i = 0; i < 20000; ++i) {
                unsigned cpu = random() % 3;
                if (random() % 2 == 0 || live.empty()) {
                    live.push_back(8 << random() % 11);
                    BOOST_TEST_REQUIRE(w->charge(cpu, leaf, live.back()));
                    bytes += w->cost_of(live.back());
                } else {
                    std::swap(live[random() % live.size()], live.back());
                    w->uncharge(cpu, leaf, live.back());
                    bytes -= w->cost_of(live.back());
                    live.pop_back();
                }
                if (i % 64 == 0) BOOST_TEST_REQUIRE(w.unexplained(leaf, bytes) == 0);
            }
            for (std::int64_t size : live) w->uncharge(0, leaf, size);
            w.take_all_off_line();
            // What is left of an owner is less than a page a CPU, and charged for at every level.
            BOOST_TEST(w->usage(leaf) == w->spare_bytes(leaf) / page_bytes);
            BOOST_TEST(w->usage(root) == w->usage(leaf));
            BOOST_TEST(w.unexplained(leaf, 0) == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_freed_elsewhere_is_credited_to_its_owner) {
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, 2);
        BOOST_TEST_CONTEXT(w->name()) {
            for (int i = 0; i < 3000; ++i) {
                int g = i % 2 == 0 ? leaf : other;
                BOOST_TEST_REQUIRE(w->charge(0, g, 100 + i));
                w->uncharge(1, g, 100 + i);
            }
            w.take_all_off_line();
            for (int g : {leaf, other}) {
                BOOST_TEST(w->usage(g) * page_bytes == w->spare_bytes(g));
                BOOST_TEST(w->statistic(g, slab_kind::unreclaimable) == 0);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_limit_is_never_passed_and_a_refusal_leaves_usage_as_it_was) {
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, 1);
        BOOST_TEST_CONTEXT(w->name()) {
            w->set_max(middle, 200);
            std::int64_t live = 0, refused = 0;
            for (int i = 0; i < 1000; ++i) {
                if (w->charge(0, leaf, 2000))
                    ++live;
                else
                    ++refused;
                BOOST_TEST_REQUIRE(w->usage(middle) <= 200);
            }
            BOOST_TEST(refused > 0);
            // One CPU alone drains itself before it gives up: nothing that would have fitted was refused.
            BOOST_TEST(live == 200 * page_bytes / w->cost_of(2000));
            BOOST_TEST(w->max_events(middle) > 0u);
            BOOST_TEST(w->max_events(leaf) == 0u);
            BOOST_TEST(w.unexplained(leaf, live * w->cost_of(2000)) == 0);
            for (; live > 0; --live) w->uncharge(0, leaf, 2000);
            w.take_all_off_line();
            BOOST_TEST(w->usage(root) * page_bytes == w->spare_bytes(leaf));
        }
    }
}

BOOST_AUTO_TEST_CASE(other_cpus_are_asked_to_drain_and_do_so_with_their_next_operation) {
    constexpr unsigned busy = 0, idle = 1;
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, 2);
        BOOST_TEST_CONTEXT(w->name()) {
            w->set_max(leaf, 64);
            BOOST_TEST(w->charge_pages(idle, leaf, 1));
            w->uncharge_pages(idle, leaf, 1);
            BOOST_TEST(w->pages_in_stocks(leaf) > 0);
            BOOST_TEST(!w->charge_pages(busy, leaf, 64)); // though it would fit: the kernel does not wait
            BOOST_TEST(w->must_drain(idle));
            BOOST_TEST(w->charge_pages(idle, other, 1));
            BOOST_TEST(!w->must_drain(idle));
            BOOST_TEST(w->usage(leaf) == 0);
            BOOST_TEST(w->charge_pages(busy, leaf, 64));
            w->uncharge_pages(busy, leaf, 64);
            w->uncharge_pages(idle, other, 1);
            w.take_all_off_line();
            BOOST_TEST(w->usage(root) == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_destroyed_groups_objects_belong_to_its_parent) {
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, 2);
        BOOST_TEST_CONTEXT(w->name()) {
            for (int i = 0; i < 100; ++i) BOOST_TEST_REQUIRE(w->charge(0, leaf, 3000));
            w.take_all_off_line();
            std::int64_t charged = w->usage(root);
            w->destroy(leaf);
            BOOST_TEST(w->usage(root) == charged);
            for (int i = 0; i < 100; ++i) w->uncharge(1, leaf, 3000);
            w.take_all_off_line();
            BOOST_TEST(w->usage(middle) * page_bytes == w->spare_bytes(leaf));
            BOOST_TEST(w->usage(leaf) == charged); // the dead group's own counter stays, and nobody looks at it
        }
    }
}

BOOST_AUTO_TEST_CASE(statistics_add_up_by_node_and_kind) {
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, 2, 2);
        BOOST_TEST_CONTEXT(w->name()) {
            std::mt19937 random(3);
            std::map<std::pair<std::uint32_t, slab_kind>, std::int64_t> expected;
            for (int i = 0; i < 5000; ++i) {
                std::uint32_t node = random() % 2;
                auto kind = random() % 3 == 0 ? slab_kind::reclaimable : slab_kind::unreclaimable;
                std::int64_t size = 8 << random() % 10;
                BOOST_TEST_REQUIRE(w->charge(random() % 2, leaf, size, node, kind));
                expected[{node, kind}] += w->cost_of(size);
                if (random() % 2 == 0) {
                    w->uncharge(random() % 2, leaf, size, node, kind);
                    expected[{node, kind}] -= w->cost_of(size);
                }
            }
            w.take_all_off_line();
            for (auto kind : {slab_kind::reclaimable, slab_kind::unreclaimable}) {
                std::int64_t all = 0;
                for (std::uint32_t node : {0u, 1u}) {
                    all += expected[{node, kind}];
                    BOOST_TEST(w->statistic_of_node(leaf, kind, node) == (expected[{node, kind}]));
                }
                BOOST_TEST(w->statistic(leaf, kind) == all);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(v1_counts_kernel_memory_a_second_time) {
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, 1);
        BOOST_TEST_CONTEXT(w->name()) {
            for (int i = 0; i < 50; ++i) BOOST_TEST_REQUIRE(w->charge(0, leaf, 4096));
            bool has_second = w->config().version == hierarchy::v1;
            BOOST_TEST(w->kernel_usage(leaf) == (has_second ? w->usage(leaf) - w->pages_in_stocks(leaf) : 0));
            for (int i = 0; i < 50; ++i) w->uncharge(0, leaf, 4096);
            w.take_all_off_line();
            BOOST_TEST(w->kernel_usage(leaf) * page_bytes <= w->spare_bytes(leaf));
        }
    }
}

BOOST_AUTO_TEST_CASE(threads_on_cpus_of_their_own_lose_nothing) {
    constexpr unsigned nr_threads = 4;
    for (engine_maker make : makers_of_all_variants()) {
        world w(make, nr_threads);
        w->set_max(middle, 3000);
        w->set_protection(leaf, 10, 20);
        std::vector<std::thread> threads;
        for (unsigned cpu = 0; cpu < nr_threads; ++cpu)
            threads.emplace_back([&w, cpu] {
                std::mt19937 random(cpu);
                std::vector<std::pair<int, std::int64_t>> live;
                for (int n = 0; n < 5000; ++n) {
                    int g = random() % 4 == 0 ? other : leaf;
                    std::int64_t size = 8 << random() % 11;
                    if (w->charge(cpu, g, size)) live.emplace_back(g, size);
                    if (live.size() > 200 || (random() % 3 == 0 && !live.empty())) {
                        w->uncharge(cpu, live.back().first, live.back().second);
                        live.pop_back();
                    }
                }
                for (auto [g, size] : live) w->uncharge(cpu, g, size);
                w->take_off_line(cpu);
            });
        for (std::thread &t : threads) t.join();
        BOOST_TEST_CONTEXT(w->name()) {
            BOOST_TEST(w->usage(root) * page_bytes == w->spare_bytes(leaf) + w->spare_bytes(other));
            BOOST_TEST(w->statistic(leaf, slab_kind::unreclaimable) == 0);
            BOOST_TEST(w->statistic(other, slab_kind::unreclaimable) == 0);
        }
    }
}

// --- what the releases differ in -----------------------------------------------------------------------------------------

namespace {

// Read-modify-writes of shared lines for a pair of 4 KiB, in a tree of three levels, once stocks are warm. Counted are the
// two of the owner's spare bytes and the two of the stock's reference; statistics leave nothing on alternating pairs.
double shared_of_a_pair(engine_maker make) {
    auto e = make(1, 1);
    int pairs_leaf = e->create(e->create(root));
    auto pairs = [&](int n) {
        for (int i = 0; i < n; ++i) {
            (void)e->charge(0, pairs_leaf, 4096);
            e->uncharge(0, pairs_leaf, 4096);
        }
    };
    pairs(10);
    tally before = e->counts(0);
    pairs(1000);
    if (e->config().statistics == statistics_cache::on) BOOST_TEST(e->counts(0).flushed() == before.flushed());
    return static_cast<double>(e->counts(0).shared() - before.shared()) / 1000;
}

// The same for bursts: 512 charged, then 512 uncharged, with min and low of both levels below the root under the usage.
double shared_of_a_burst(engine_maker make) {
    auto e = make(1, 1);
    int above = e->create(root), burst_leaf = e->create(above);
    (void)e->charge_pages(0, burst_leaf, 10000);
    e->set_protection(above, 100, 100);
    e->set_protection(burst_leaf, 100, 100);
    auto burst = [&] {
        for (int i = 0; i < 512; ++i) (void)e->charge(0, burst_leaf, 4096);
        for (int i = 0; i < 512; ++i) e->uncharge(0, burst_leaf, 4096);
    };
    for (int i = 0; i < 4; ++i) burst();
    std::uint64_t before = e->counts(0).shared();
    for (int i = 0; i < 64; ++i) burst();
    return static_cast<double>(e->counts(0).shared() - before) / (64 * 512);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_pair_of_4_KiB_writes_4_shared_words_before_5_14_and_none_since) {
    BOOST_TEST(shared_of_a_pair(make_engine<linux_5_13>) == 4);
    BOOST_TEST(shared_of_a_pair(make_engine<linux_5_14_before>) == 4);
    BOOST_TEST(shared_of_a_pair(make_engine<linux_5_14>) == 0);
    BOOST_TEST(shared_of_a_pair(make_engine<linux_2026>) == 0);
}

BOOST_AUTO_TEST_CASE(with_v1s_second_counters_it_is_10_before_and_6_since) {
    BOOST_TEST(shared_of_a_pair(make_engine<linux_5_14_before_v1>) == 10);
    BOOST_TEST(shared_of_a_pair(make_engine<linux_5_14_v1>) == 6);
}

BOOST_AUTO_TEST_CASE(a_burst_of_512_shows_A_and_C) {
    BOOST_TEST(shared_of_a_burst(make_engine<linux_6_0>) == 0.444, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_burst(make_engine<linux_6_0_a>) == 0.190, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_burst(make_engine<linux_6_0_c>) == 0.220, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_burst(make_engine<linux_6_1>) == 0.095, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_burst(make_engine<linux_6_1_v1>) == 4.60, boost::test_tools::tolerance(0.01));
    BOOST_TEST(shared_of_a_burst(make_engine<linux_5_14_before>) == 8.43, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(a_page_stock_of_seven_serves_owners_in_turn_where_one_slot_thrashes) {
    auto walks = [](engine_maker make) {
        auto e = make(1, 1);
        std::vector<int> leaves;
        for (int i = 0; i < 6; ++i) leaves.push_back(e->create(root));
        for (int round = 0; round < 1000; ++round)
            for (int g : leaves) {
                (void)e->charge_pages(0, g, 3);
                e->uncharge_pages(0, g, 3);
            }
        return e->counts(0).walks;
    };
    BOOST_TEST(walks(make_engine<linux_6_1>) == 11999u); // each charges anew and drains the one before
    BOOST_TEST(walks(make_engine<linux_6_16>) == 6u);
}

BOOST_AUTO_TEST_CASE(a_byte_stock_of_five_keeps_five_owners) {
    auto references = [](engine_maker make) {
        auto e = make(1, 1);
        std::vector<int> leaves;
        for (int i = 0; i < 5; ++i) leaves.push_back(e->create(root));
        for (int round = 0; round < 1000; ++round)
            for (int g : leaves) {
                (void)e->charge(0, g, 64);
                e->uncharge(0, g, 64);
            }
        return e->counts(0).references;
    };
    BOOST_TEST(references(make_engine<linux_6_16>) == 9999u); // taken each time, put by the next
    BOOST_TEST(references(make_engine<linux_2026>) == 5u);
}
