#include "accounting/context_table.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/lease.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/tenant.hpp"

namespace allot {

static_assert(hi_of(160, 0) > net_of(160, 0x7fffffff) && hi_of(160, ~0u) < net_of(176, -0x7fffffff),
              "hi separates what is covered from the next size, whatever the object count");
static_assert(lo_of(160) < net_of(160, -0x7fffffff) && lo_of(160) > net_of(144, 0x7fffffff));

void context_seal(context &c) {
    // relaxed: a drainer's membarrier, or the owner's own program order, makes it meet the owner's next load.
    c.hi.store(sealed_hi + static_cast<net_word>(++cold_of(c).epoch), std::memory_order_relaxed);
    c.lo.store(sealed_lo, std::memory_order_relaxed);
    set_flag(c, context_sealed);
    std::atomic_signal_fence(std::memory_order_seq_cst); // a handler of the owner must not pass by old limits
}

void context_unseal(context &c, std::uint64_t most_unused) {
    std::int64_t stock = c.stock.load(std::memory_order_relaxed);
    if (most_unused == 0 || stock < 0) return;
    clear_flag(c, context_sealed);
    c.lo.store(lo_of(stock - static_cast<std::int64_t>(most_unused)), std::memory_order_relaxed);
    c.hi.store(hi_of(stock, ++cold_of(c).epoch), std::memory_order_relaxed);
}

void context_take_over(context &c) {
    context_seal(c);
    clear_flag(c, context_unordered); // to itself, the owner's operations are in order
    context_cold &cold = cold_of(c);
    // late before net: who sees a handler's bytes here sees its net too, so that stock is never more than what is held.
    std::int64_t stock = c.stock.load(std::memory_order_relaxed) + cold.late.exchange(0, std::memory_order_acquire);
    if (const std::int64_t taken = taken_by_others(c); taken != 0) [[unlikely]] {
        stock -= taken;
        (void)page_counter_uncharge(root_tenant().counter,
                                    static_cast<std::uint64_t>(taken)); // what this process has in all
        std::atomic<std::uint64_t> &seen = shared::taking_at(c.index).seen;
        seen.store(seen.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(taken), std::memory_order_relaxed);
    }
    net_word folded = c.net.load(std::memory_order_relaxed);
    net_add(c.net, -folded); // not a store of 0: a handler may have added meanwhile
    cold.settled_bytes.store(cold.settled_bytes.load(std::memory_order_relaxed) + net_bytes(folded),
                             std::memory_order_relaxed);
    cold.settled_objects.store(cold.settled_objects.load(std::memory_order_relaxed) + net_objects(folded),
                               std::memory_order_relaxed);
    c.stock.store(stock - net_bytes(folded), std::memory_order_relaxed);
}

namespace {

void count_holding(tenant &t, std::uint32_t change) {
    for (tenant *at = &t; at != nullptr; at = parent_of(*at))
        at->counter.nr_holding.fetch_add(change, std::memory_order_seq_cst);
    if (is_shared(t)) shared::account_at(t.counter.account).nr_holding.fetch_add(change, std::memory_order_seq_cst);
}

void begin_holding(context &c, tenant &t) {
    c.flags.store(c.flags.load(std::memory_order_relaxed) | context_holding, std::memory_order_seq_cst);
    count_holding(t, 1);
}

} // namespace

std::uint64_t context_begin_holding(context &c, tenant &t, std::uint64_t batch) {
    if (batch == 0 || has_flag(c, context_holding)) return batch;
    begin_holding(c, t);
    if (is_shared(t) && shared::is_drained(t.counter.node)) return 0;
    std::uint32_t drained = region().draining.load(std::memory_order_seq_cst);
    return drained != 0 && is_at_or_below(t, record_at<tenant>(drained)) ? 0 : batch;
}

void context_settle_holding(context &c, tenant &t) {
    bool holds = !has_flag(c, context_sealed) || has_flag(c, context_unordered) || context_unused(c) > 0;
    if (holds == has_flag(c, context_holding)) return;
    if (holds) return begin_holding(c, t);
    clear_flag(c, context_holding);
    count_holding(t, ~std::uint32_t{0});
}

std::int64_t context_unused(const context &c) {
    std::int64_t late = cold_of(c).late.load(std::memory_order_acquire);
    return c.stock.load(std::memory_order_relaxed) + late - taken_by_others(c) -
           net_bytes(c.net.load(std::memory_order_relaxed));
}

std::uint64_t context_unused_estimate(const context &c) {
    std::int64_t unused = context_unused(c);
    return unused > 0 ? static_cast<std::uint64_t>(unused) : 0;
}

void context_give_back(context &c, tenant &t) {
    context_take_over(c);
    context_forget_swing(c);
    std::int64_t unused = c.stock.load(std::memory_order_relaxed);
    if (unused > 0) {
        c.stock.store(0, std::memory_order_relaxed);
        tree_uncharge(t, static_cast<std::uint64_t>(unused));
    }
    context_settle_holding(c, t);
}

namespace {

void count_contexts(tenant &t, std::uint32_t change) {
    for (tenant *at = &t; at != nullptr; at = parent_of(*at)) {
        at->counter.nr_contexts.fetch_add(change, std::memory_order_relaxed);
        if (is_shared(*at)) figures_of(*at).nr_contexts.fetch_add(change, std::memory_order_relaxed);
    }
    if (is_shared(t)) shared::account_at(t.counter.account).nr_contexts.fetch_add(change, std::memory_order_relaxed);
}

// Where processes share the tree, contexts lie in its file, in chunks of this process. Registry lock.
constinit std::uint32_t chunk_next = 0, chunk_end = 0;

// A chunk begins a page, as the headers of slabs do that are used first: a processor that compares the lower 12 bits of addresses
// takes a header's load for one of what was stored into such a context, and waits. batch/64 takes half as long again.
constexpr std::uint32_t chunk_unused = 9;

std::uint32_t take_from_chunk() {
    if (chunk_next == chunk_end) {
        chunk_next = shared::chunk_open();
        if (chunk_next == 0) return chunk_end = 0;
        chunk_end = chunk_next + shared::chunk_contexts;
        chunk_next += chunk_unused;
    }
    return chunk_next++;
}

std::uint32_t new_context(const tenant &t) {
    if (!is_shared(t)) return record_new<context_record>();
    table_header &freed = region().tables[static_cast<std::uint32_t>(table::contexts)];
    const std::uint32_t index = freed.free_head != 0 ? record_new<context_record>() : take_from_chunk();
    if (index == 0) return 0;
    // The chunk may have been another process's, whose end somebody else has not noticed who still means to take from it.
    context &c = record_at<context_record>(index).hot;
    std::uint32_t lock = c.lock.exchange(0, std::memory_order_seq_cst);
    if (lock != 0) shared::ledger_flush();
    shared::taking &beside = shared::taking_at(index);
    beside.seen.store(beside.taken.value.load(std::memory_order_acquire), std::memory_order_relaxed);
    beside.account.store(t.counter.account, std::memory_order_relaxed);
    return index;
}

void initialise(context_record &c, std::uint32_t index, std::uint32_t obj_cgroup) {
    c.hot.net.store(0, std::memory_order_relaxed);
    c.hot.stock.store(0, std::memory_order_relaxed);
    c.hot.obj_cgroup = obj_cgroup;
    c.hot.index = index;
    context_forget_swing(c.hot);
    c.hot.flags.store(context_in_use, std::memory_order_relaxed);
    c.cold.late.store(0, std::memory_order_relaxed);
    c.cold.settled_bytes.store(0, std::memory_order_relaxed);
    c.cold.settled_objects.store(0, std::memory_order_relaxed);
    c.cold.thread = os_tid();
    context_seal(c.hot); // the first charge decides how much to hold
}

} // namespace

context *context_open(std::uint32_t obj_cgroup) {
    if (obj_cgroup == 0) return nullptr; // of a process that is not accounted
    if (holds_locks()) return nullptr;   // a handler amid our own code cannot wait for the registry
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    if (!obj_cgroup_try_grab(obj_cgroup)) return nullptr;
    tenant &t = *tenant_named_by(obj_cgroup); // stays: reparenting takes the registry lock
    std::uint32_t index = has_account(t) ? new_context(t) : 0;
    if (index == 0) {
        obj_cgroup_put_locked(obj_cgroup);
        return nullptr;
    }
    context_record &c = record_at<context_record>(index);
    initialise(c, index, obj_cgroup);
    list_put(t.first_context, c, index);
    count_contexts(t, 1);
    return &c.hot;
}

void context_close(context *c) {
    if (holds_locks()) return; // a handler amid our own code: the record is lost, 128 bytes, and in the books still
    auto &record = reinterpret_cast<context_record &>(*c);
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant &t = *tenant_named_by(c->obj_cgroup);
    lock_take(c->lock, lock_rank::context);
    context_give_back(*c, t);
    charge_lines &lines = lines_of(t);
    lines.settled_bytes.fetch_add(record.cold.settled_bytes.exchange(0, std::memory_order_relaxed),
                                  std::memory_order_relaxed);
    lines.settled_objects.fetch_add(record.cold.settled_objects.exchange(0, std::memory_order_relaxed),
                                    std::memory_order_relaxed);
    c->flags.store(0, std::memory_order_relaxed);
    list_remove(t.first_context, record);
    lock_give(c->lock, lock_rank::context);
    count_contexts(t, ~std::uint32_t{0});
    obj_cgroup_put_locked(c->obj_cgroup);
    record_put<context_record>(c->index);
}

void context_park(context *c) {
    if (holds_locks()) return; // as above; who needs the stock drains it
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant &t = *tenant_named_by(c->obj_cgroup);
    lock_scope own(c->lock, lock_rank::context);
    context_give_back(*c, t);
    cold_of(*c).thread = 0;
}

void contexts_child_start() { chunk_next = chunk_end = 0; }

void contexts_reparent(tenant &t, tenant &parent) {
    while (context_record *c = record_of<context_record>(t.first_context)) {
        list_remove(t.first_context, *c);
        list_put(parent.first_context, *c, c->hot.index);
        if (is_shared(parent))
            shared::taking_at(c->hot.index).account.store(parent.counter.account, std::memory_order_relaxed);
    }
    t.counter.nr_contexts.store(0, std::memory_order_relaxed);
}

} // namespace allot
