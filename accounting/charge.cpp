#include "accounting/charge.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"
#include "accounting/context_table.hpp"
#include "accounting/drain.hpp"
#include "accounting/failures.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/requests.hpp"
#include "accounting/thread_charges.hpp"
#include "accounting/throttle.hpp"

namespace allot {

namespace {

page_counter *counter_above(const tenant &t) {
    tenant *parent = parent_of(t);
    return parent == nullptr ? nullptr : &parent->counter;
}

std::uint64_t beyond_max(const tenant &t, charge_limit limit) {
    switch (limit) {
    case charge_limit::max: return 0;
    case charge_limit::headroom: return figures_of(t).headroom.load(std::memory_order_relaxed);
    case charge_limit::none: return unlimited;
    }
    return 0;
}

constexpr std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

} // namespace

// --- the tree ---------------------------------------------------------------------------------------------------------

namespace {

tenant &ancestor_of_depth(tenant &from, std::uint32_t depth) {
    tenant *t = &from;
    while (t->counter.depth > depth) t = parent_of(*t);
    return *t;
}

constexpr shared::beyond how_far(charge_limit limit) {
    return limit == charge_limit::max        ? shared::beyond::max
           : limit == charge_limit::headroom ? shared::beyond::headroom
                                             : shared::beyond::anything;
}

void note_over_high(tenant &from, std::uint64_t bytes) {
    charges_here.flags |= owes_visit;
    throttle_owe(from, bytes);
}

// What this process is charged in all, for its reports: in the root's own counter, which counts nothing else in a shared tree.
void note_own_rise(std::uint64_t bytes) {
    page_counter &own = root_tenant().counter;
    const std::uint64_t all = page_counter_charge(own, bytes);
    if (all == charge_refused || all <= own.peak.load(std::memory_order_relaxed)) return;
    page_counter_raise_peak(own, all);
    shared::member_at(shared::this_member)
        .peak.store(own.peak.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// One operation at all levels; peaks are raised by it. What others charged since may make `high` be counted twice, or not.
tenant *try_charge_shared(tenant &from, std::uint64_t bytes, charge_limit limit) {
    const shared::outcome o = shared::ledger_charge(from.counter.account, bytes, how_far(limit));
    if (o.is != shared::verdict::done) return &ancestor_of_depth(from, o.depth);
    note_own_rise(bytes);
    if (shared::request_is_waiting()) charges_here.flags |= owes_visit; // see settle_charge
    bool is_over_high = false;
    for (tenant *t = &from; t != nullptr; t = parent_of(*t)) {
        std::uint64_t used = usage(*t), high = figures_of(*t).high.load(std::memory_order_relaxed);
        if (used <= high) [[likely]]
            continue;
        if (used - bytes <= high) count_event(*t, allot_event_high);
        is_over_high = true;
    }
    if (is_over_high) [[unlikely]]
        note_over_high(from, bytes);
    return nullptr;
}

void uncharge_shared(tenant &from, std::uint64_t bytes) {
    while (bytes != 0 && shared::ledger_uncharge(from.counter.account, bytes).is != shared::verdict::done) {
        count_anomaly(); // more than was charged
        const std::uint64_t has =
            shared::account_at(from.counter.account).charged.value.load(std::memory_order_relaxed);
        bytes = least(bytes, has);
    }
    (void)page_counter_uncharge(root_tenant().counter, bytes); // see note_own_rise
}

} // namespace

tenant *tree_try_charge(tenant &from, std::uint64_t bytes, const tenant *stop, charge_limit limit) {
    if (is_shared(from)) [[unlikely]]
        return try_charge_shared(from, bytes, limit);
    std::uint64_t reached[tenant_depth_max + 1]; // usage after this charge, by distance from `from`
    std::uint32_t levels = 0;
    for (tenant *t = &from; t != nullptr && t != stop; t = parent_of(*t)) {
        reached[levels] = page_counter_try_charge(t->counter, bytes, beyond_max(*t, limit));
        if (reached[levels] == charge_refused) {
            tree_uncharge(from, bytes, t);
            return t;
        }
        ++levels;
    }
    // Only now is it a charge: peaks and protected parts follow.
    bool is_over_high = false;
    tenant *t = &from;
    for (std::uint32_t level = 0; level < levels; ++level, t = parent_of(*t)) {
        if (reached[level] > t->counter.peak.load(std::memory_order_relaxed))
            page_counter_raise_peak(t->counter, reached[level]);
        std::uint64_t high = t->counter.high.load(std::memory_order_relaxed);
        if (reached[level] > high) [[unlikely]] {
            if (reached[level] - bytes <= high) count_event(*t, allot_event_high);
            is_over_high = true;
        }
        if (has_protection(t->counter)) page_counter_propagate(t->counter, counter_above(*t));
    }
    if (is_over_high) [[unlikely]]
        note_over_high(from, bytes);
    return nullptr;
}

void tree_uncharge(tenant &from, std::uint64_t bytes, const tenant *stop) {
    if (is_shared(from)) [[unlikely]]
        return uncharge_shared(from, bytes);
    for (tenant *t = &from; t != nullptr && t != stop; t = parent_of(*t)) {
        if (page_counter_uncharge(t->counter, bytes) != 0) count_anomaly();
        if (has_protection(t->counter)) page_counter_propagate(t->counter, counter_above(*t));
    }
}

namespace {

// What a level lets be charged ahead. One look at whether it is shared, for all of it.
struct level_bounds {
    std::uint64_t max, high, used;
    std::uint32_t contexts;
};
[[gnu::noinline]] level_bounds shared_bounds_of(const tenant &t) {
    const shared::node &n = shared_node(t);
    return {n.set.max.load(std::memory_order_relaxed), n.set.high.load(std::memory_order_relaxed), usage(t),
            n.nr_contexts.load(std::memory_order_relaxed)};
}
[[gnu::always_inline]] inline level_bounds bounds_of(const tenant &t) {
    if (is_shared(t)) [[unlikely]]
        return shared_bounds_of(t);
    const page_counter &c = t.counter;
    return {c.max.load(std::memory_order_relaxed), c.high.load(std::memory_order_relaxed), usage(c),
            c.nr_contexts.load(std::memory_order_relaxed)};
}

} // namespace

charge_ahead charge_ahead_of(const tenant &from) {
    if (os_membarrier_mode() == membarrier_mode::unavailable) return {};
    if (from.counts_charges.load(std::memory_order_relaxed) != 0) return {}; // each charge is to be counted
    std::uint64_t share = unlimited, contexts = 1;
    for (const tenant *t = &from; t != nullptr; t = parent_of(*t)) {
        const auto [max, high, used, contexts_here] = bounds_of(*t);
        contexts = std::uint64_t{1} + contexts_here;
        if (max >= unlimited && high >= unlimited) continue;
        std::uint64_t room = max > used ? max - used : 0;
        // So that what crosses `high` is used, not held. Above it, it is no bound any more.
        if (used <= high && high - used < room) room = high - used;
        // If all its contexts charged that much ahead, half of the room would be left.
        share = least(share, room / (2 * contexts));
    }
    std::uint64_t batch = least(share, charge_batch_bytes) / page_bytes * page_bytes;
    if (batch == 0) return {};
    // Here contexts are those of the root, all of the process.
    return {batch, least(share / 2, least(swing_bytes_max, swings_together_bytes / contexts))};
}

bool may_use_headroom(const tenant &t, std::uint64_t bytes) {
    const thread_charges &here = charges_here;
    if (here.emergencies != 0) return true;
    if (here.armed == 0 || bytes > headroom_charge_bytes) return false;
    const tenant *level = tenant_named_by(here.armed);
    return level != nullptr && is_at_or_below(t, *level);
}

void charge_fitted(const tenant &t) {
    if (charges_here.armed == 0) [[likely]]
        return;
    const tenant *level = tenant_named_by(charges_here.armed);
    if (level == nullptr || is_at_or_below(t, *level)) charges_here.armed = 0;
}

void leave_refusal(refusal &left, std::uint32_t asked, std::uint32_t level_depth, refusal_kind kind,
                   std::uint64_t bytes) {
    left = {.asked = asked,
            .level_depth = static_cast<std::uint8_t>(level_depth),
            .kind = kind,
            .tries = left.tries,
            .bytes = bytes};
    charges_here.flags |= owes_refusal;
}

// --- a context's slow paths -----------------------------------------------------------------------------------------

namespace {

// What c may charge ahead from now on, counted as holding if it may anything. Its swing, not another's.
charge_ahead begin_ahead(context &c, tenant &t) {
    charge_ahead ahead = charge_ahead_of(t);
    if (context_begin_holding(c, t, ahead.batch) == 0) return {};
    ahead.swing = least(ahead.swing, c.swing);
    return ahead;
}

// The owner gave bytes back, or wants some: those between the two it need not have given.
void note_given_back(context &c, std::uint64_t bytes) {
    c.returned = static_cast<std::uint32_t>(least(c.returned + bytes, swing_bytes_max));
}
void note_wanted(context &c) {
    c.swing = static_cast<std::uint32_t>(least(std::uint64_t{c.swing} + c.returned, swing_bytes_max));
    c.returned = 0;
}

// nullptr: charged; else the level that has no room even for `need` alone.
tenant *charge_with_batch(tenant &t, std::uint64_t need, std::uint64_t batch, std::uint64_t &charged) {
    charged = need + batch;
    tenant *level = tree_try_charge(t, charged);
    if (level == nullptr || batch == 0) return level;
    charged = need;
    return tree_try_charge(t, need);
}

} // namespace

tenant *context_cover(context &c) {
    context_take_over(c);
    tenant &t = *tenant_named_by(c.obj_cgroup);
    std::int64_t stock = c.stock.load(std::memory_order_relaxed);
    if (stock < 0) note_wanted(c);
    charge_ahead ahead = begin_ahead(c, t);
    if (stock < 0) {
        auto need = static_cast<std::uint64_t>(-stock);
        std::uint64_t charged = 0;
        if (tenant *level = charge_with_batch(t, need, ahead.batch, charged)) {
            context_settle_holding(c, t);
            return level;
        }
        c.stock.store(stock + static_cast<std::int64_t>(charged), std::memory_order_relaxed);
        charge_fitted(t);
    }
    cold_of(c).thread = os_tid();
    context_unseal(c, ahead.most_unused());
    context_settle_holding(c, t);
    return nullptr;
}

namespace {

// Called in a signal handler that interrupted one of our own functions: it may hold c's lock, and someone may wait for
// it, so nothing is waited for. The tenant stays in place as long as c is locked, by us or by the interrupted code.
bool charge_in_handler(context &c, net_word d) {
    bool interrupted_its_slow_path = lock_is_mine(c.lock);
    if (interrupted_its_slow_path || lock_try_for_a_while(c.lock, lock_rank::context)) {
        tenant &t = *tenant_named_by(c.obj_cgroup);
        auto bytes = static_cast<std::uint64_t>(net_bytes(d));
        tenant *level = tree_try_charge(t, bytes);
        if (level != nullptr && charges_here.mode >= charge_mode::atomic) {
            count_event(*level, allot_event_max);
            level = charge_over(t, bytes);
        }
        // release: see context_cold::late.
        if (level == nullptr) cold_of(c).late.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_release);
        if (!interrupted_its_slow_path) lock_give(c.lock, lock_rank::context);
        if (level == nullptr) return true;
    }
    net_add(c.net, -d);
    return false;
}

enum class attempt : std::uint32_t { covered, refused, must_drain };

// All that needs no drain, under the context's lock.
attempt try_without_drain(context &c, net_word d) {
    lock_scope own(c.lock, lock_rank::context);
    tenant &t = *tenant_named_by(c.obj_cgroup);
    auto bytes = static_cast<std::uint64_t>(net_bytes(d));
    if (failure_is_due(t, bytes)) [[unlikely]] {
        context_take_back(c, d, t);
        leave_refusal(cold_of(c).refused, c.obj_cgroup, t.counter.depth, refusal_kind::injected, bytes);
        return attempt::refused;
    }
    tenant *level = context_cover(c);
    if (level == nullptr) return attempt::covered;
    if (charges_here.mode != charge_mode::atomic) return attempt::must_drain;
    auto missing = static_cast<std::uint64_t>(-c.stock.load(std::memory_order_relaxed));
    if (charge_over(t, missing) != nullptr) return attempt::must_drain;
    count_event(*level, allot_event_max);
    c.stock.store(0, std::memory_order_relaxed);
    return attempt::covered;
}

} // namespace

tenant *charge_over(tenant &t, std::uint64_t bytes, const tenant *stop) {
    if (tenant *uncountable = tree_try_charge(t, bytes, stop, charge_limit::none)) return uncountable;
    figures_of(t).forced.fetch_add(bytes, std::memory_order_relaxed);
    return nullptr;
}

void context_take_back(context &c, net_word d, tenant &t) {
    net_add(c.net, -d);
    context_give_back(c, t);
}

bool context_charge_slow(context *c, net_word d) {
    ALLOT_ASSERT(net_bytes(d) > 0 && net_bytes(d) % size_grain == 0 && "sizes are multiples of 16");
    if (holds_locks()) [[unlikely]]
        return charge_in_handler(*c, d);
    attempt first = try_without_drain(*c, d);
    if (first != attempt::must_drain) return first == attempt::covered;
    signals_blocked quiet;
    return drain_and_charge({.ctx = c,
                             .d = d,
                             .obj_cgroup = c->obj_cgroup,
                             .bytes = static_cast<std::uint64_t>(net_bytes(d)),
                             .left = &cold_of(*c).refused});
}

void context_uncharge_slow(context *c) {
    if (holds_locks()) [[unlikely]] {                               // there is no waiting here
        region().handlers_left.store(1, std::memory_order_release); // with what it has added to net
        return;
    }
    lock_scope own(c->lock, lock_rank::context);
    context_take_over(*c);
    tenant &t = *tenant_named_by(c->obj_cgroup);
    charge_ahead ahead = begin_ahead(*c, t);
    std::int64_t unused = c->stock.load(std::memory_order_relaxed);
    // Down to a batch less, so that the next few operations, whichever way they go, need no slow path.
    if (unused > static_cast<std::int64_t>(ahead.most_unused())) {
        auto left = static_cast<std::int64_t>(ahead.left_unused());
        auto given = static_cast<std::uint64_t>(unused - left);
        c->stock.store(left, std::memory_order_relaxed);
        tree_uncharge(t, given);
        if (ahead.batch != 0) note_given_back(*c, given);
    }
    context_unseal(*c, ahead.most_unused());
    context_settle_holding(*c, t);
}

void context_fold(context *c) {
    if (holds_locks()) [[unlikely]]
        return;
    lock_scope own(c->lock, lock_rank::context);
    bool was_sealed = has_flag(*c, context_sealed);
    context_take_over(*c);
    tenant &t = *tenant_named_by(c->obj_cgroup);
    if (!was_sealed) context_unseal(*c, begin_ahead(*c, t).most_unused()); // it was counted as holding
    context_settle_holding(*c, t);
}

} // namespace allot
