// The kernel's charge path for one variant: object cgroups over byte stocks over page stocks over a tree of counters.
//
// It exists so that Linux's releases can be measured and counted side by side, and beside allot's own engine, under one
// allocator. It is faithful in what is counted and in what is refused: stocks by CPU that only their CPU empties, refusals
// that do not wait for other CPUs' stocks, failed charges that raise peaks. It leaves out what the experiments do not meet:
// reclaim, swap, the OOM killer, and v1's limit of kernel memory.
//
// Threads: a cpu is used by one thread at a time, and everything of it goes through that thread; the tree changes
//   when nobody charges.
// Owner: the engine owns groups, owners and CPUs, until its end: nothing is freed before.
// Invariants: 1. For each owner: pages charged = live bytes with overhead + bytes in stocks + spare bytes, in pages.
//             2. When everything is freed and every CPU is off-line, what is left of an owner is less than a page.
// Cost: see tally.hpp.
#pragma once

#include "accounting/linux/byte_stock.hpp"
#include "accounting/linux/counter.hpp"
#include "accounting/linux/page_stock.hpp"
#include "accounting/linux/vmstat_cache.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace allot::memcg {

template<typename Variant>
class engine {
public:
    static constexpr engine_config config = Variant::config;
    static constexpr bool has_kernel_counter = config.version == hierarchy::v1;

    struct group;

    // What objects name: it outlives its group, and belongs to the parent then.
    struct owner {
        std::atomic<group *> of{nullptr}; // changed by destroy() alone, read by every charge
        std::atomic<std::int64_t> spare_bytes{0};
    };

    // The statistics of one CPU. Written by it alone, read by anyone, relaxed.
    struct alignas(64) stat_line {
        std::atomic<std::int64_t> bytes[nr_slab_kinds] = {};
    };

    struct group {
        counter<config> memory;
        counter<config> kernel_memory; // v1
        group *parent = nullptr;
        owner *own = nullptr;
        std::vector<stat_line> by_cpu, by_cpu_and_node;
        std::atomic<std::uint64_t> max_events{0};
    };

    struct cpu {
        explicit cpu(std::uint32_t number) : id(number), pages(config.batch_pages) {}
        const std::uint32_t id;
        page_stock<group, config.page_slots> pages;
        byte_stock<owner, config.object_slots> bytes;
        vmstat_cache statistics;
        owner *statistics_of = nullptr; // whose they are
        // Set by others that ran out, taken at this CPU's next operation; relaxed: there is no other message.
        std::atomic<bool> must_drain{false};
        tally counts;
    };

    explicit engine(std::uint32_t nr_cpus, std::uint32_t nr_nodes = 1) : nr_nodes_(nr_nodes) {
        for (std::uint32_t i = 0; i < nr_cpus; ++i) cpus_.push_back(std::make_unique<cpu>(i));
        root_ = &make_group(nullptr);
    }

    cpu &cpu_of(std::uint32_t number) { return *cpus_[number]; }
    group &root() { return *root_; }
    group &create(group &parent) { return make_group(&parent); }

    // Its owners, and those that it inherited, belong to the parent; what is charged stays where it is, in all above.
    void destroy(group &g) {
        for (owner &o : owners_)
            if (o.of.load(std::memory_order_relaxed) == &g) o.of.store(g.parent, std::memory_order_relaxed);
    }

    static void set_max(group &g, std::int64_t pages) { g.memory.max.store(pages, std::memory_order_relaxed); }
    static void set_protection(group &g, std::int64_t min_pages, std::int64_t low_pages) {
        g.memory.min.store(min_pages, std::memory_order_relaxed);
        g.memory.low.store(low_pages, std::memory_order_relaxed);
    }

    // --- objects ---------------------------------------------------------------------------------------------------------

    static constexpr std::int64_t cost_of(std::int64_t size) { return size + config.owner_bytes; }

    // False: refused, and nothing has changed but peaks.
    [[nodiscard]] bool charge(cpu &c, owner &o, std::int64_t size, std::uint32_t node = 0,
                              slab_kind kind = slab_kind::unreclaimable) {
        poll(c);
        std::int64_t cost = cost_of(size);
        if (c.bytes.consume(&o, cost)) {
            ++c.counts.byte_stock_hits;
        } else {
            ++c.counts.byte_stock_misses;
            std::int64_t pages = (cost + page_bytes - 1) / page_bytes;
            if (!charge_pages_of(c, o, pages)) return false;
            if (std::int64_t rest = pages * page_bytes - cost; rest != 0) refill(c, o, rest, config.in_charge);
        }
        update_statistics(c, o, node, kind, cost);
        return true;
    }

    void uncharge(cpu &c, owner &o, std::int64_t size, std::uint32_t node = 0,
                  slab_kind kind = slab_kind::unreclaimable) {
        poll(c);
        std::int64_t cost = cost_of(size);
        refill(c, o, cost, uncharge_in_charge::allowed);
        update_statistics(c, o, node, kind, -cost);
    }

    // --- whole pages, as sockets charge them -------------------------------------------------------------------------------

    [[nodiscard]] bool charge_pages(cpu &c, group &g, std::int64_t pages) {
        poll(c);
        return try_charge(c, g, pages);
    }
    void uncharge_pages(cpu &c, group &g, std::int64_t pages) {
        poll(c);
        refill_pages(c, g, pages);
    }

    // --- draining --------------------------------------------------------------------------------------------------------

    // This CPU's stocks at once; others are asked, and not waited for.
    void drain_all(cpu &here, const group &top) {
        auto is_below = [&top](const group *g) {
            while (g != nullptr && g != &top) g = g->parent;
            return g == &top;
        };
        for (auto &c : cpus_)
            if (c.get() != &here && c->pages.holds_any(is_below)) c->must_drain.store(true, std::memory_order_relaxed);
        drain(here);
    }
    // Its thread goes away.
    void take_off_line(cpu &c) { drain(c); }

    // --- what a test compares ----------------------------------------------------------------------------------------------

    [[nodiscard]] std::int64_t statistic(const group &g, slab_kind kind) const {
        std::int64_t sum = 0;
        for (const stat_line &line : g.by_cpu) sum += line.bytes[static_cast<std::uint32_t>(kind)];
        return sum;
    }
    [[nodiscard]] std::int64_t statistic_of_node(const group &g, slab_kind kind, std::uint32_t node) const {
        std::int64_t sum = 0;
        for (std::size_t i = node; i < g.by_cpu_and_node.size(); i += nr_nodes_)
            sum += g.by_cpu_and_node[i].bytes[static_cast<std::uint32_t>(kind)];
        return sum;
    }
    [[nodiscard]] std::int64_t bytes_in_stocks(const owner &o) const {
        std::int64_t sum = 0;
        for (const auto &c : cpus_) sum += c->bytes.held_for(&o);
        return sum;
    }
    [[nodiscard]] std::int64_t pages_in_stocks(const group &g) const {
        std::int64_t sum = 0;
        for (const auto &c : cpus_) sum += c->pages.held_for(&g);
        return sum;
    }

private:
    group &make_group(group *parent) {
        groups_.emplace_back();
        group &g = groups_.back();
        g.parent = parent;
        g.memory.parent = parent == nullptr ? nullptr : &parent->memory;
        g.kernel_memory.parent = parent == nullptr ? nullptr : &parent->kernel_memory;
        g.kernel_memory.kind = counted_as::kernel_memory;
        g.by_cpu = std::vector<stat_line>(cpus_.size());
        g.by_cpu_and_node = std::vector<stat_line>(cpus_.size() * nr_nodes_);
        owners_.emplace_back();
        g.own = &owners_.back();
        g.own->of.store(&g, std::memory_order_relaxed);
        return g;
    }

    void poll(cpu &c) {
        if (!c.must_drain.load(std::memory_order_relaxed)) [[likely]]
            return;
        c.must_drain.store(false, std::memory_order_relaxed);
        drain(c);
    }

    void drain(cpu &c) {
        for (auto &slot : c.bytes)
            if (slot.owner != nullptr) give_away(c, slot, c.counts.flushed_by_drain);
        flush_statistics(c, c.counts.flushed_by_drain); // of an owner that no slot names any more
        c.pages.drain_all(c.counts.page_stock_drains, uncharger(c));
    }

    auto uncharger(cpu &c) {
        return [&c](group *g, std::int64_t pages) { g->memory.uncharge(pages, c.counts); };
    }

    // --- pages -------------------------------------------------------------------------------------------------------------

    bool try_charge(cpu &c, group &g, std::int64_t pages) {
        if (&g == root_) {
            g.memory.charge(pages, c.counts); // not limited; counted, so that figures of all add up
            return true;
        }
        std::int64_t batch = pages > config.batch_pages ? pages : config.batch_pages;
        bool is_drained = false;
        for (;;) {
            if (c.pages.consume(&g, pages)) {
                ++c.counts.page_stock_hits;
                return true;
            }
            ++c.counts.page_stock_misses;
            counter<config> *full = g.memory.try_charge(batch, c.counts);
            if (full == nullptr) break;
            if (batch > pages) {
                batch = pages;
                continue;
            }
            group &level = group_of(g, *full);
            if (is_drained) {
                level.max_events.fetch_add(1, std::memory_order_relaxed);
                return false;
            }
            drain_all(c, level);
            is_drained = true;
        }
        if (batch > pages) refill_pages(c, g, batch - pages);
        return true;
    }
    static group &group_of(group &from, const counter<config> &level) {
        group *g = &from;
        while (&g->memory != &level) g = g->parent;
        return *g;
    }

    void refill_pages(cpu &c, group &g, std::int64_t pages) {
        if (&g == root_)
            g.memory.uncharge(pages, c.counts);
        else
            c.pages.refill(&g, pages, c.counts.page_stock_drains, uncharger(c));
    }

    bool charge_pages_of(cpu &c, owner &o, std::int64_t pages) {
        group &g = *o.of.load(std::memory_order_relaxed);
        if (!try_charge(c, g, pages)) return false;
        c.counts.pages_charged += static_cast<std::uint64_t>(pages);
        if constexpr (has_kernel_counter) g.kernel_memory.charge(pages, c.counts);
        return true;
    }
    void uncharge_pages_of(cpu &c, owner &o, std::int64_t pages) {
        group &g = *o.of.load(std::memory_order_relaxed);
        if constexpr (has_kernel_counter) g.kernel_memory.uncharge(pages, c.counts);
        refill_pages(c, g, pages);
    }

    // --- bytes -------------------------------------------------------------------------------------------------------------

    using byte_slot = typename byte_stock<owner, config.object_slots>::slot;

    void refill(cpu &c, owner &o, std::int64_t bytes, uncharge_in_charge may_uncharge) {
        byte_slot *slot = c.bytes.find(&o);
        if (slot == nullptr) {
            slot = &take_slot(c, o);
            may_uncharge = uncharge_in_charge::allowed;
        }
        slot->bytes += bytes;
        if (slot->bytes <= page_bytes) return;
        if constexpr (config.overflow == byte_overflow::drain) {
            give_away(c, *slot, c.counts.flushed_by_drain);
        } else if (may_uncharge == uncharge_in_charge::allowed) {
            std::int64_t pages = slot->bytes / page_bytes;
            slot->bytes %= page_bytes;
            uncharge_pages_of(c, o, pages);
        }
    }

    byte_slot &take_slot(cpu &c, owner &o) {
        byte_slot &slot = c.bytes.slot_to_take();
        if (slot.owner != nullptr) give_away(c, slot, c.counts.flushed_by_owner);
        ++c.counts.references;
        slot = {&o, take_spare_bytes(c, o)};
        return slot;
    }

    // 5.13 exchanges whether there is something or not; later releases look first.
    std::int64_t take_spare_bytes(cpu &c, owner &o) {
        if (config.overflow == byte_overflow::excess_pages && o.spare_bytes.load(std::memory_order_relaxed) == 0)
            return 0;
        ++c.counts.spare_bytes;
        return o.spare_bytes.exchange(0, std::memory_order_relaxed);
    }

    // All of a slot, its statistics included; nobody's afterwards.
    void give_away(cpu &c, byte_slot &slot, std::uint64_t &flushed) {
        owner &o = *slot.owner;
        std::int64_t bytes = slot.bytes;
        slot = {};
        ++c.counts.byte_stock_drains;
        if (c.statistics_of == &o) flush_statistics(c, flushed);
        if (bytes != 0) {
            if (std::int64_t pages = bytes / page_bytes; pages != 0) uncharge_pages_of(c, o, pages);
            ++c.counts.spare_bytes; // an addition, also of 0
            o.spare_bytes.fetch_add(bytes % page_bytes, std::memory_order_relaxed);
        }
        ++c.counts.references;
    }

    // --- statistics --------------------------------------------------------------------------------------------------------

    void update_statistics(cpu &c, owner &o, std::uint32_t node, slab_kind kind, std::int64_t bytes) {
        ++c.counts.statistics;
        if constexpr (config.statistics == statistics_cache::off) {
            ++c.counts.flushed_directly;
            pass_on(c, o, node, kind, bytes);
        } else {
            if (c.statistics_of != &o) take_over_statistics(c, o);
            if (c.statistics.is_of_another_node(node)) flush_statistics(c, c.counts.flushed_by_node, &o);
            std::int64_t due = c.statistics.update(node, kind, bytes);
            if (due == 0) return;
            ++c.counts.flushed_by_size;
            pass_on(c, o, node, kind, due);
        }
    }

    // With one slot the cache is the slot's: whoever updates statistics becomes the owner of both.
    void take_over_statistics(cpu &c, owner &o) {
        if constexpr (config.object_slots == 1) {
            if (c.bytes.find(&o) == nullptr) (void)take_slot(c, o);
        }
        flush_statistics(c, c.counts.flushed_by_owner);
        c.statistics_of = &o;
    }

    void flush_statistics(cpu &c, std::uint64_t &flushed, owner *next = nullptr) {
        c.statistics.take([&](std::uint32_t node, slab_kind kind, std::int64_t bytes) {
            ++flushed;
            pass_on(c, *c.statistics_of, node, kind, bytes);
        });
        c.statistics_of = next;
    }

    // To the two lines of this CPU that belong to the group.
    void pass_on(cpu &c, owner &o, std::uint32_t node, slab_kind kind, std::int64_t bytes) {
        group &g = *o.of.load(std::memory_order_relaxed);
        auto k = static_cast<std::uint32_t>(kind);
        add_locally(g.by_cpu[c.id].bytes[k], bytes);
        add_locally(g.by_cpu_and_node[c.id * nr_nodes_ + node].bytes[k], bytes);
    }
    static void add_locally(std::atomic<std::int64_t> &a, std::int64_t bytes) {
        a.store(a.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    }

    const std::uint32_t nr_nodes_;
    std::vector<std::unique_ptr<cpu>> cpus_;
    std::deque<group> groups_; // addresses stay
    std::deque<owner> owners_;
    group *root_ = nullptr;
};

} // namespace allot::memcg
