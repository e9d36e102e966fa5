#include "accounting/statistics.hpp"

#include "accounting/allocator_source.hpp"
#include "accounting/context_table.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/tenant_extra.hpp"

namespace allot {

namespace {

void add_context(statistics &all, const context_record &c) {
    net_word net = c.hot.net.load(std::memory_order_relaxed);
    all.value[allot_stat_slab] += c.cold.settled_bytes.load(std::memory_order_relaxed) + net_bytes(net);
    all.value[allot_stat_objects] += c.cold.settled_objects.load(std::memory_order_relaxed) + net_objects(net);
    all.value[allot_stat_stock] += static_cast<std::int64_t>(context_unused_estimate(c.hot));
}

void add_own(statistics &all, const tenant &t) {
    if (t.index == root_index)
        all.value[allot_stat_anomalies] = static_cast<std::int64_t>(region().anomalies.load(std::memory_order_relaxed));
    if (is_shared(t) && t.counter.account != 0) shared::account_settle(t.counter.account);
    all.value[allot_stat_slab] += lines_of(t).settled_bytes.load(std::memory_order_relaxed);
    all.value[allot_stat_objects] += lines_of(t).settled_objects.load(std::memory_order_relaxed);
    all.value[allot_stat_large] += lines_of(t).large.load(std::memory_order_relaxed);
    all.value[allot_stat_external] += lines_of(t).external.load(std::memory_order_relaxed);
    all.value[allot_stat_forced] += static_cast<std::int64_t>(figures_of(t).forced.load(std::memory_order_relaxed));
    all.value[allot_stat_headroom] +=
        static_cast<std::int64_t>(figures_of(t).headroom_charges.load(std::memory_order_relaxed));
    if (const tenant_extra *extra = extra_if_any(t))
        all.value[allot_stat_injected] +=
            static_cast<std::int64_t>(extra->failures.injected.load(std::memory_order_relaxed));
    if (const tenant_extra *extra = extra_if_any(t)) {
        all.value[allot_stat_throttled] += extra->nr_delayed.load(std::memory_order_relaxed);
        all.value[allot_stat_throttled_usec] +=
            static_cast<std::int64_t>(extra->delayed_us.load(std::memory_order_relaxed));
        all.value[allot_stat_reclaimed] += static_cast<std::int64_t>(extra->reclaimed.load(std::memory_order_relaxed));
    }
    for (context_record *c = record_of<context_record>(t.first_context); c != nullptr;
         c = record_of<context_record>(c->cold.next))
        add_context(all, *c);
}

// A context may free what another one allocated, so the parts of a sum may be negative; the sum, read while others work,
// may be for a moment, and is then shown as nothing.
statistics clamped(statistics all) {
    for (std::int64_t &value : all.value)
        if (value < 0) value = 0;
    return all;
}

} // namespace

statistics statistics_of(const tenant &t) {
    statistics all{};
    add_own(all, t);
    return clamped(all);
}

statistics statistics_of_subtree(const tenant &top) {
    statistics all{};
    for (const tenant *t = &top; t != nullptr; t = next_in_subtree(*t, top)) add_own(all, *t);
    return clamped(all);
}

void add_requested(statistics &all, const tenant &top) {
    auto usable = static_cast<std::uint64_t>(all.value[allot_stat_slab] + all.value[allot_stat_large]);
    all.value[allot_stat_requested] = static_cast<std::int64_t>(requested_estimate(top, usable));
}

void add_process_figures(statistics &all) {
    allocator_figures own = process_figures();
    all.value[allot_stat_cache] = static_cast<std::int64_t>(own.cache);
    all.value[allot_stat_overhead] = static_cast<std::int64_t>(own.overhead);
    all.value[allot_stat_resident] = static_cast<std::int64_t>(own.resident);
}

} // namespace allot
