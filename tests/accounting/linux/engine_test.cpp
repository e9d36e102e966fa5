// The rules that hold for every variant, on every variant. What tells them apart is in releases_test.cpp.
#define BOOST_TEST_MODULE engine
#include <boost/test/unit_test.hpp>

#include "accounting/linux/engines.hpp"

#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace allot::memcg;

namespace {

// The tree of all cases: / - top - middle - leaf, and a second leaf.
struct world {
    std::unique_ptr<any_engine> engine;
    group &root, &top, &middle, &leaf, &other;

    world(const variant_entry &variant, engine_size size)
        : engine(variant.make(size)), root(engine->root()), top(engine->create(root)), middle(engine->create(top)),
          leaf(engine->create(middle)), other(engine->create(middle)), nr_cpus_(size.cpus) {}
    any_engine *operator->() const { return engine.get(); }

    [[nodiscard]] bool charge(std::uint32_t on, group &g, std::int64_t size, std::uint32_t node = 0,
                              slab_kind kind = slab_kind::unreclaimable) const {
        return engine->charge(engine->cpu_of(on), *g.own, size, node, kind);
    }
    void uncharge(std::uint32_t on, group &g, std::int64_t size, std::uint32_t node = 0,
                  slab_kind kind = slab_kind::unreclaimable) const {
        engine->uncharge(engine->cpu_of(on), *g.own, size, node, kind);
    }
    [[nodiscard]] bool charge_pages(std::uint32_t on, group &g, std::int64_t pages) const {
        return engine->charge_pages(engine->cpu_of(on), g, pages);
    }
    void uncharge_pages(std::uint32_t on, group &g, std::int64_t pages) const {
        engine->uncharge_pages(engine->cpu_of(on), g, pages);
    }
    void take_all_off_line() const {
        for (std::uint32_t i = 0; i < nr_cpus_; ++i) engine->take_off_line(engine->cpu_of(i));
    }
    // Bytes that a leaf is charged for and that neither objects (live, with overhead) nor stocks explain.
    [[nodiscard]] std::int64_t unexplained(const group &g, std::int64_t live) const {
        std::int64_t bytes = live + engine->bytes_in_stocks(*g.own) + residue(g);
        return (engine->usage(g) - engine->pages_in_stocks(g)) * page_bytes - bytes;
    }
    // What an owner keeps for all CPUs: charged for still when all is freed and off-line.
    [[nodiscard]] static std::int64_t residue(const group &g) { return g.own->spare_bytes; }

private:
    std::uint32_t nr_cpus_;
};

} // namespace

BOOST_AUTO_TEST_CASE(pages_charged_are_objects_and_stocks_at_every_moment) {
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {3});
        BOOST_TEST_CONTEXT(variant.name) {
            std::mt19937 random(5);
            std::vector<std::int64_t> live;
            std::int64_t bytes = 0;
            for (int i = 0; i < 20000; ++i) {
                unsigned on = random() % 3;
                if (random() % 2 == 0 || live.empty()) {
                    live.push_back(8 << random() % 12);
                    BOOST_TEST_REQUIRE(w.charge(on, w.leaf, live.back()));
                    bytes += w->cost_of(live.back());
                } else {
                    std::swap(live[random() % live.size()], live.back());
                    w.uncharge(on, w.leaf, live.back());
                    bytes -= w->cost_of(live.back());
                    live.pop_back();
                }
                if (i % 64 == 0) BOOST_TEST_REQUIRE(w.unexplained(w.leaf, bytes) == 0);
            }
            auto nr_live = static_cast<std::int64_t>(live.size());
            BOOST_TEST(w->references(*w.leaf.own) >= nr_live); // and those of stocks
            BOOST_TEST(w->references(*w.leaf.own) <= nr_live + 3);
            for (std::int64_t size : live) w.uncharge(0, w.leaf, size);
            w.take_all_off_line();
            BOOST_TEST(w->references(*w.leaf.own) == 0);
            // What is left of an owner is less than a page a CPU, and charged for at every level.
            BOOST_TEST(w->usage(w.leaf) == world::residue(w.leaf) / page_bytes);
            BOOST_TEST(w->usage(w.root) == w->usage(w.leaf));
            BOOST_TEST(w.unexplained(w.leaf, 0) == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_freed_elsewhere_is_credited_to_its_owner) {
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {2});
        BOOST_TEST_CONTEXT(variant.name) {
            for (int i = 0; i < 3000; ++i) {
                group &g = i % 2 == 0 ? w.leaf : w.other;
                BOOST_TEST_REQUIRE(w.charge(0, g, 100 + i));
                w.uncharge(1, g, 100 + i);
            }
            w.take_all_off_line();
            for (const group *g : {&w.leaf, &w.other}) {
                BOOST_TEST(w->usage(*g) * page_bytes == world::residue(*g));
                BOOST_TEST(w->statistic(*g, slab_kind::unreclaimable) == 0);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_limit_is_never_passed_and_a_refusal_leaves_usage_as_it_was) {
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {1});
        BOOST_TEST_CONTEXT(variant.name) {
            w->set_max(w.middle, 200);
            std::int64_t live = 0, refused = 0;
            for (int i = 0; i < 1000; ++i) {
                if (w.charge(0, w.leaf, 2000))
                    ++live;
                else
                    ++refused;
                BOOST_TEST_REQUIRE(w->usage(w.middle) <= 200);
            }
            BOOST_TEST(refused > 0);
            // One CPU alone drains itself before it gives up: nothing that would have fitted was refused.
            BOOST_TEST(live == 200 * page_bytes / w->cost_of(2000));
            BOOST_TEST(w.middle.max_events > 0u);
            BOOST_TEST(w.leaf.max_events == 0u);
            BOOST_TEST(w.unexplained(w.leaf, live * w->cost_of(2000)) == 0);
            for (; live > 0; --live) w.uncharge(0, w.leaf, 2000);
            w.take_all_off_line();
            BOOST_TEST(w->usage(w.root) * page_bytes == world::residue(w.leaf));
        }
    }
}

BOOST_AUTO_TEST_CASE(other_cpus_are_asked_to_drain_and_do_so_with_their_next_operation) {
    constexpr unsigned busy = 0, idle = 1;
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {2});
        BOOST_TEST_CONTEXT(variant.name) {
            w->set_max(w.leaf, 64);
            BOOST_TEST(w.charge_pages(idle, w.leaf, 1));
            w.uncharge_pages(idle, w.leaf, 1);
            BOOST_TEST(w->pages_in_stocks(w.leaf) > 0);
            BOOST_TEST(!w.charge_pages(busy, w.leaf, 64)); // though it would fit: the kernel does not wait
            BOOST_TEST(w->cpu_of(idle).must_drain);
            BOOST_TEST(w.charge_pages(idle, w.other, 1));
            BOOST_TEST(!w->cpu_of(idle).must_drain);
            BOOST_TEST(w->usage(w.leaf) == 0);
            BOOST_TEST(w.charge_pages(busy, w.leaf, 64));
            w.uncharge_pages(busy, w.leaf, 64);
            w.uncharge_pages(idle, w.other, 1);
            w.take_all_off_line();
            BOOST_TEST(w->usage(w.root) == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_destroyed_groups_objects_belong_to_its_parent) {
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {2});
        BOOST_TEST_CONTEXT(variant.name) {
            for (int i = 0; i < 100; ++i) BOOST_TEST_REQUIRE(w.charge(0, w.leaf, 3000));
            w.take_all_off_line();
            std::int64_t charged = w->usage(w.root);
            w->destroy(w.leaf);
            BOOST_TEST(w->usage(w.root) == charged);
            for (int i = 0; i < 100; ++i) w.uncharge(1, w.leaf, 3000);
            w.take_all_off_line();
            BOOST_TEST(w->usage(w.middle) * page_bytes == world::residue(w.leaf));
            BOOST_TEST(w->usage(w.leaf) == charged); // the dead group's own counter stays, and nobody looks at it
        }
    }
}

BOOST_AUTO_TEST_CASE(statistics_add_up_by_node_and_kind) {
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {2, 2});
        BOOST_TEST_CONTEXT(variant.name) {
            std::mt19937 random(3);
            std::map<std::pair<std::uint32_t, slab_kind>, std::int64_t> expected;
            for (int i = 0; i < 5000; ++i) {
                std::uint32_t node = random() % 2;
                auto kind = random() % 3 == 0 ? slab_kind::reclaimable : slab_kind::unreclaimable;
                std::int64_t size = 8 << random() % 10;
                BOOST_TEST_REQUIRE(w.charge(random() % 2, w.leaf, size, node, kind));
                expected[{node, kind}] += w->cost_of(size);
                if (random() % 2 == 0) {
                    w.uncharge(random() % 2, w.leaf, size, node, kind);
                    expected[{node, kind}] -= w->cost_of(size);
                }
            }
            w.take_all_off_line();
            for (auto kind : {slab_kind::reclaimable, slab_kind::unreclaimable}) {
                std::int64_t all = 0;
                for (std::uint32_t node : {0u, 1u}) {
                    all += expected[{node, kind}];
                    BOOST_TEST(w->statistic_of_node(w.leaf, kind, node) == (expected[{node, kind}]));
                }
                BOOST_TEST(w->statistic(w.leaf, kind) == all);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(v1_counts_kernel_memory_a_second_time) {
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {1});
        BOOST_TEST_CONTEXT(variant.name) {
            for (int i = 0; i < 50; ++i) BOOST_TEST_REQUIRE(w.charge(0, w.leaf, 4096));
            bool has_second = w->config().version == hierarchy::v1;
            BOOST_TEST(w->kernel_usage(w.leaf) == (has_second ? w->usage(w.leaf) - w->pages_in_stocks(w.leaf) : 0));
            for (int i = 0; i < 50; ++i) w.uncharge(0, w.leaf, 4096);
            w.take_all_off_line();
            BOOST_TEST(w->kernel_usage(w.leaf) * page_bytes <= world::residue(w.leaf));
        }
    }
}

BOOST_AUTO_TEST_CASE(threads_on_cpus_of_their_own_lose_nothing) {
    constexpr unsigned nr_threads = 4;
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {nr_threads});
        w->set_max(w.middle, 3000);
        w->set_protection(w.leaf, 10, 20);
        std::vector<std::thread> threads;
        for (unsigned on = 0; on < nr_threads; ++on)
            threads.emplace_back([&w, on] {
                std::mt19937 random(on);
                std::vector<std::pair<group *, std::int64_t>> live;
                for (int n = 0; n < 5000; ++n) {
                    group &g = random() % 4 == 0 ? w.other : w.leaf;
                    std::int64_t size = 8 << random() % 12;
                    if (w.charge(on, g, size)) live.emplace_back(&g, size);
                    if (live.size() > 200 || (random() % 3 == 0 && !live.empty())) {
                        w.uncharge(on, *live.back().first, live.back().second);
                        live.pop_back();
                    }
                }
                for (auto [g, size] : live) w.uncharge(on, *g, size);
                w->take_off_line(w->cpu_of(on));
            });
        for (std::thread &t : threads) t.join();
        BOOST_TEST_CONTEXT(variant.name) {
            BOOST_TEST(w->usage(w.root) * page_bytes == world::residue(w.leaf) + world::residue(w.other));
            BOOST_TEST(w->statistic(w.leaf, slab_kind::unreclaimable) == 0);
            BOOST_TEST(w->statistic(w.other, slab_kind::unreclaimable) == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_object_larger_than_slabs_have_is_whole_pages_and_leaves_stocks_of_bytes_alone) {
    for (const variant_entry &variant : all_engines()) {
        world w(variant, {1});
        BOOST_TEST_CONTEXT(variant.name) {
            BOOST_TEST(w->cost_of(8192) == 8192 + w->config().owner_bytes);
            BOOST_TEST(w->cost_of(8193) == 3 * page_bytes);
            BOOST_TEST_REQUIRE(w.charge(0, w.leaf, 10000));
            BOOST_TEST(w->usage(w.leaf) - w->pages_in_stocks(w.leaf) == 3);
            BOOST_TEST(w->bytes_in_stocks(*w.leaf.own) == 0);
            BOOST_TEST(w->statistic(w.leaf, slab_kind::unreclaimable) == 3 * page_bytes);
            BOOST_TEST(w->references(*w.leaf.own) == 1);
            w.uncharge(0, w.leaf, 10000);
            w.take_all_off_line();
            BOOST_TEST(w->usage(w.root) == 0);
            BOOST_TEST(w->references(*w.leaf.own) == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(statistics_can_be_left_out_and_nothing_else_goes_with_them) {
    for (const variant_entry &variant : all_engines()) {
        world with(variant, {1}), without(variant, {1});
        without->leave_out_statistics();
        BOOST_TEST_CONTEXT(variant.name) {
            for (world *w : {&with, &without}) {
                for (int i = 0; i < 10; ++i) BOOST_TEST_REQUIRE(w->charge(0, w->leaf, 1000));
                for (int i = 0; i < 5; ++i) w->uncharge(0, w->leaf, 1000);
                w->take_all_off_line();
            }
            BOOST_TEST(with->usage(with.leaf) == without->usage(without.leaf));
            BOOST_TEST(with->statistic(with.leaf, slab_kind::unreclaimable) == 5 * with->cost_of(1000));
            BOOST_TEST(without->statistic(without.leaf, slab_kind::unreclaimable) == 0);
            BOOST_TEST(without->counts().statistics == 0u);
        }
    }
}
