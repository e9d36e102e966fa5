// The kernel's charge path for one variant: object cgroups over byte stocks over page stocks over a tree of counters.
//
// It exists so that Linux's releases can be measured and counted side by side, and beside allot's own engine, under one
// allocator. It is faithful in what is counted and in what is refused: stocks by CPU that only their CPU empties, refusals
// that do not wait for other CPUs' stocks, failed charges that raise peaks. It leaves out what the experiments do not meet:
// reclaim, swap, the OOM killer, and v1's limit of kernel memory.
//
// Threads, Owner: see any_engine.hpp.
// Invariants: 1. For each owner: pages charged = live bytes with overhead + bytes in stocks + spare bytes, in pages.
//             2. When everything is freed and every CPU is off-line, what is left of an owner is less than a page.
// Cost: see tally.hpp.
#pragma once

#include "accounting/linux/any_engine.hpp"
#include "accounting/linux/byte_stock.hpp"
#include "accounting/linux/counter.hpp"
#include "accounting/linux/page_stock.hpp"
#include "accounting/linux/variants.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace allot::memcg {

template<typename Variant>
class engine final : public any_engine {
public:
    static constexpr engine_config configuration = Variant::config;
    static constexpr bool has_kernel_counter = configuration.version == hierarchy::v1;

    explicit engine(engine_size size) : any_engine(size) {
        for (std::uint32_t i = 0; i < size.cpus; ++i) add_cpu(std::make_unique<own_cpu>(i));
        (void)make_group(nullptr);
    }

    const char *name() const override { return Variant::name; }
    const engine_config &config() const override { return Variant::config; }
    void set_max(group &g, std::int64_t pages) override { own(g).memory.max.store(pages, std::memory_order_relaxed); }
    void set_protection(group &g, std::int64_t min_pages, std::int64_t low_pages) override {
        own(g).memory.min.store(min_pages, std::memory_order_relaxed);
        own(g).memory.low.store(low_pages, std::memory_order_relaxed);
    }

    // --- objects ---------------------------------------------------------------------------------------------------------

    bool charge(cpu &any, owner &o, std::int64_t size, std::uint32_t node = 0,
                slab_kind kind = slab_kind::unreclaimable) override {
        own_cpu &c = own(any);
        poll(c);
        if (size > largest_slab_object) [[unlikely]]
            return charge_large(c, o, size, node, kind);
        std::int64_t cost = size + configuration.owner_bytes;
        if (c.bytes.consume(&o, cost)) {
            ++c.counts.byte_stock_hits;
        } else {
            ++c.counts.byte_stock_misses;
            std::int64_t pages = pages_of(cost);
            if (!charge_pages_of(c, o, pages)) return false;
            if (std::int64_t rest = pages * page_bytes - cost; rest != 0) refill(c, o, rest, configuration.in_charge);
        }
        refer(c, o, 1); // the object
        update_statistics(c, o, node, kind, cost);
        return true;
    }

    void uncharge(cpu &any, owner &o, std::int64_t size, std::uint32_t node = 0,
                  slab_kind kind = slab_kind::unreclaimable) override {
        own_cpu &c = own(any);
        poll(c);
        if (size > largest_slab_object) [[unlikely]]
            return uncharge_large(c, o, size, node, kind);
        std::int64_t cost = size + configuration.owner_bytes;
        refill(c, o, cost, uncharge_in_charge::allowed);
        update_statistics(c, o, node, kind, -cost);
        refer(c, o, -1);
    }

    // --- whole pages, as sockets charge them -------------------------------------------------------------------------------

    bool charge_pages(cpu &any, group &g, std::int64_t pages) override {
        own_cpu &c = own(any);
        poll(c);
        if (!try_charge(c, own(g), pages)) return false;
        c.counts.pages_charged += static_cast<std::uint64_t>(pages);
        return true;
    }
    void uncharge_pages(cpu &any, group &g, std::int64_t pages) override {
        poll(own(any));
        refill_pages(own(any), own(g), pages);
    }

    void take_off_line(cpu &c) override { drain(own(c)); }

    // --- what a test compares ----------------------------------------------------------------------------------------------

    std::int64_t usage(const group &g) const override { return own(g).memory.usage.load(std::memory_order_relaxed); }
    std::int64_t kernel_usage(const group &g) const override {
        if constexpr (has_kernel_counter)
            return own(g).kernel_memory.usage.load(std::memory_order_relaxed);
        else
            return 0;
    }
    std::int64_t bytes_in_stocks(const owner &o) const override {
        std::int64_t sum = 0;
        for (const auto &c : cpus()) sum += own(*c).bytes.held_for(&o);
        return sum;
    }
    std::int64_t pages_in_stocks(const group &g) const override {
        std::int64_t sum = 0;
        for (const auto &c : cpus()) sum += own(*c).pages.held_for(&g);
        return sum;
    }

private:
    using level = counter<configuration.layout, configuration.protection>;
    struct no_counter {};
    struct own_group final : group {
        level memory;
        [[no_unique_address]] std::conditional_t<has_kernel_counter, level, no_counter> kernel_memory;
    };
    // On lines of its own: nobody but drains of other CPUs looks into it.
    struct alignas(2 * cache_line_bytes) own_cpu final : cpu {
        explicit own_cpu(std::uint32_t number) : cpu(number), pages(configuration.batch_pages) {}
        page_stock<group, configuration.page_slots> pages;
        byte_stock<owner, configuration.object_slots> bytes;
        vmstat_cache statistics;
        owner *statistics_of = nullptr; // whose they are
    };
    static own_cpu &own(cpu &c) { return static_cast<own_cpu &>(c); }
    static const own_cpu &own(const cpu &c) { return static_cast<const own_cpu &>(c); }
    static own_group &own(group &g) { return static_cast<own_group &>(g); }
    static const own_group &own(const group &g) { return static_cast<const own_group &>(g); }

    std::unique_ptr<group> new_group(group *parent) override {
        auto g = std::make_unique<own_group>();
        if (parent != nullptr) g->memory.parent = &own(*parent).memory;
        if constexpr (has_kernel_counter) {
            if (parent != nullptr) g->kernel_memory.parent = &own(*parent).kernel_memory;
            g->kernel_memory.kind = counted_as::kernel_memory;
        }
        return g;
    }

    // A reference to an owner, taken or put: where this CPU counts them is read from the owner's line.
    static void refer(const own_cpu &c, owner &o, std::int64_t change) {
        add_locally(o.references[c.id].count, change);
    }

    // --- draining --------------------------------------------------------------------------------------------------------

    void poll(own_cpu &c) {
        if (!c.must_drain.load(std::memory_order_relaxed)) [[likely]]
            return;
        c.must_drain.store(false, std::memory_order_relaxed);
        drain(c);
    }

    // This CPU's stocks at once; others are asked, and not waited for.
    [[gnu::cold]] void drain_all(own_cpu &here, const group &top) {
        auto is_below = [&top](const group *g) {
            while (g != nullptr && g != &top) g = g->parent;
            return g == &top;
        };
        for (const auto &c : cpus())
            if (c.get() != &here && own(*c).pages.holds_any(is_below))
                c->must_drain.store(true, std::memory_order_relaxed);
        drain(here);
    }

    [[gnu::cold]] void drain(own_cpu &c) {
        for (auto &slot : c.bytes)
            if (slot.owner != nullptr) give_away(c, slot, c.counts.flushed_by_drain);
        flush_statistics(c, c.counts.flushed_by_drain); // of an owner that no slot names any more
        c.pages.drain_all(c.counts.page_stock_drains, uncharger(c));
    }

    auto uncharger(own_cpu &c) {
        return [&c](group *g, std::int64_t pages) { own(*g).memory.uncharge(pages, c.counts); };
    }

    // --- pages -------------------------------------------------------------------------------------------------------------

    bool try_charge(own_cpu &c, own_group &g, std::int64_t pages) {
        if (&g == &root()) {
            g.memory.charge(pages, c.counts); // not limited; counted, so that figures of all add up
            return true;
        }
        std::int64_t batch = pages > configuration.batch_pages ? pages : configuration.batch_pages;
        bool is_drained = false;
        for (;;) {
            if (c.pages.consume(&g, pages)) {
                ++c.counts.page_stock_hits;
                return true;
            }
            ++c.counts.page_stock_misses;
            level *full = g.memory.try_charge(batch, c.counts);
            if (full == nullptr) break;
            if (batch > pages) {
                batch = pages;
                continue;
            }
            group &refusing = group_of(g, *full);
            if (is_drained) {
                refusing.max_events.fetch_add(1, std::memory_order_relaxed);
                return false;
            }
            drain_all(c, refusing);
            is_drained = true;
        }
        if (batch > pages) refill_pages(c, g, batch - pages);
        return true;
    }
    static group &group_of(own_group &from, const level &wanted) {
        own_group *g = &from;
        while (&g->memory != &wanted) g = &own(*g->parent);
        return *g;
    }

    void refill_pages(own_cpu &c, own_group &g, std::int64_t pages) {
        if (&g == &root())
            g.memory.uncharge(pages, c.counts);
        else
            c.pages.refill(&g, pages, c.counts.page_stock_drains, uncharger(c));
    }

    bool charge_pages_of(own_cpu &c, owner &o, std::int64_t pages) {
        own_group &g = own(*o.of.load(std::memory_order_relaxed));
        if (!try_charge(c, g, pages)) return false;
        c.counts.pages_charged += static_cast<std::uint64_t>(pages);
        if constexpr (has_kernel_counter) g.kernel_memory.charge(pages, c.counts);
        return true;
    }
    void uncharge_pages_of(own_cpu &c, owner &o, std::int64_t pages) {
        own_group &g = own(*o.of.load(std::memory_order_relaxed));
        if constexpr (has_kernel_counter) g.kernel_memory.uncharge(pages, c.counts);
        refill_pages(c, g, pages);
    }

    // kmalloc above a slab's largest: pages of its own, and statistics without the stock.
    [[gnu::cold]] bool charge_large(own_cpu &c, owner &o, std::int64_t size, std::uint32_t node, slab_kind kind) {
        if (!charge_pages_of(c, o, pages_of(size))) return false;
        refer(c, o, 1);
        update_statistics_at_once(c, o, node, kind, pages_of(size) * page_bytes);
        return true;
    }
    [[gnu::cold]] void uncharge_large(own_cpu &c, owner &o, std::int64_t size, std::uint32_t node, slab_kind kind) {
        update_statistics_at_once(c, o, node, kind, -pages_of(size) * page_bytes);
        uncharge_pages_of(c, o, pages_of(size));
        refer(c, o, -1);
    }

    // --- bytes -------------------------------------------------------------------------------------------------------------

    using byte_slot = typename byte_stock<owner, configuration.object_slots>::slot;

    void refill(own_cpu &c, owner &o, std::int64_t bytes, uncharge_in_charge may_uncharge) {
        byte_slot *slot = c.bytes.find(&o);
        if (slot == nullptr) {
            slot = &take_slot(c, o);
            may_uncharge = uncharge_in_charge::allowed;
        }
        slot->bytes += bytes;
        if (slot->bytes <= page_bytes) return;
        if constexpr (configuration.overflow == byte_overflow::drain) {
            give_away(c, *slot, c.counts.flushed_by_drain);
        } else if (may_uncharge == uncharge_in_charge::allowed) {
            std::int64_t pages = slot->bytes / page_bytes;
            slot->bytes %= page_bytes;
            uncharge_pages_of(c, o, pages);
        }
    }

    byte_slot &take_slot(own_cpu &c, owner &o) {
        byte_slot &slot = c.bytes.slot_to_take();
        if (slot.owner != nullptr) give_away(c, slot, c.counts.flushed_by_owner);
        ++c.counts.references;
        refer(c, o, 1);
        slot = {&o, take_spare_bytes(c, o)};
        return slot;
    }

    // 5.13 exchanges whether there is something or not; later releases look first.
    std::int64_t take_spare_bytes(own_cpu &c, owner &o) {
        if (configuration.overflow == byte_overflow::excess_pages && o.spare_bytes.load(std::memory_order_relaxed) == 0)
            return 0;
        ++c.counts.spare_bytes;
        return o.spare_bytes.exchange(0, std::memory_order_relaxed);
    }

    // All of a slot, its statistics included; nobody's afterwards.
    void give_away(own_cpu &c, byte_slot &slot, std::uint64_t &flushed) {
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
        refer(c, o, -1);
    }

    // --- statistics --------------------------------------------------------------------------------------------------------

    void update_statistics(own_cpu &c, owner &o, std::uint32_t node, slab_kind kind, std::int64_t bytes) {
        if constexpr (configuration.statistics == statistics_cache::off) {
            update_statistics_at_once(c, o, node, kind, bytes);
        } else {
            if (!keeps_statistics()) return;
            ++c.counts.statistics;
            if (c.statistics_of != &o) take_over_statistics(c, o);
            if (c.statistics.is_of_another_node(node)) flush_statistics(c, c.counts.flushed_by_node, &o);
            std::int64_t due = c.statistics.update(node, kind, bytes);
            if (due == 0) return;
            ++c.counts.flushed_by_size;
            pass_on(c, o, node, kind, due);
        }
    }
    void update_statistics_at_once(own_cpu &c, owner &o, std::uint32_t node, slab_kind kind, std::int64_t bytes) {
        if (!keeps_statistics()) return;
        ++c.counts.statistics;
        ++c.counts.flushed_directly;
        pass_on(c, o, node, kind, bytes);
    }

    // With one slot the cache is the slot's: whoever updates statistics becomes the owner of both.
    void take_over_statistics(own_cpu &c, owner &o) {
        if constexpr (configuration.object_slots == 1) {
            if (c.bytes.find(&o) == nullptr) (void)take_slot(c, o);
        }
        flush_statistics(c, c.counts.flushed_by_owner);
        c.statistics_of = &o;
    }

    void flush_statistics(own_cpu &c, std::uint64_t &flushed, owner *next = nullptr) {
        c.statistics.take([&](std::uint32_t node, slab_kind kind, std::int64_t bytes) {
            ++flushed;
            pass_on(c, *c.statistics_of, node, kind, bytes);
        });
        c.statistics_of = next;
    }

    // To the two lines of this CPU that belong to the group.
    void pass_on(own_cpu &c, owner &o, std::uint32_t node, slab_kind kind, std::int64_t bytes) {
        group &g = *o.of.load(std::memory_order_relaxed);
        auto k = static_cast<std::uint32_t>(kind);
        add_locally(g.by_cpu[c.id].bytes[k], bytes);
        add_locally(g.by_cpu_and_node[c.id * nr_nodes() + node].bytes[k], bytes);
    }
};

} // namespace allot::memcg
