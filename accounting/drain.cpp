#include "accounting/drain.hpp"

#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/context_table.hpp"
#include "accounting/direct.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/thread_charges.hpp"

namespace allot {

// Memory order. Owner (context.hpp): store net, then load hi. Drainer: store hi, membarrier, load net. Without a fence
// in the owner both could read the old value: an allocation that its drainer does not see and that does not see the
// drainer, whose bytes are then given to another. The membarrier is that fence, placed by the kernel into the owner
// between two of its instructions: an operation whose addition came before it is seen by the loads that follow; one whose
// addition comes after it loads hi after it, finds the seal, and waits for the lock. A context that was sealed before and
// has been through its owner's slow path since needs none.

void lock_all_direct() {
    for (lock_line &line : region().direct_locks) lock_take(line.word, lock_rank::direct);
}
void unlock_all_direct() {
    for (lock_line &line : region().direct_locks) lock_give(line.word, lock_rank::direct);
}

namespace {

// Calls visit on each context of the subtree, passing over what has none.
template<class Visit>
void for_each_context(const tenant &top, Visit visit) {
    for (const tenant *t = &top; t != nullptr;) {
        for (std::uint32_t index = t->first_context; index != 0;) {
            context_record &c = record_at<context_record>(index);
            index = c.cold.next;
            visit(c.hot);
        }
        bool has_any = t->counter.nr_contexts.load(std::memory_order_relaxed) != 0;
        t = has_any ? next_in_subtree(*t, top) : next_outside(*t, top);
    }
}

enum class order : std::uint32_t { established, unknown };

// Locks and seals; afterwards every owner's operation waits, or its net is visible if the order is established.
order seal_subtree(const tenant &top, membarrier_mode mode) {
    bool must_order = false;
    for_each_context(top, [&](context &c) {
        lock_take(c.lock, lock_rank::context);
        if ((c.flags & context_sealed) == 0) {
            context_seal(c);
            c.flags |= context_unordered;
        }
        must_order |= (c.flags & context_unordered) != 0;
    });
    return !must_order || os_membarrier(mode) ? order::established : order::unknown;
}

// With an unknown order, contexts whose net may be old keep what they have; their owners give it back themselves.
void take_unused(const tenant &top, order known) {
    for_each_context(top, [&](context &c) {
        if ((c.flags & context_unordered) != 0) {
            if (known == order::unknown) return;
            c.flags &= ~context_unordered;
        }
        std::int64_t unused = context_unused(c);
        if (unused <= 0) return;
        c.stock.store(c.stock.load(std::memory_order_relaxed) - unused, std::memory_order_relaxed);
        tree_uncharge(*tenant_named_by(c.obj_cgroup), static_cast<std::uint64_t>(unused));
    });
}

void unlock_subtree(const tenant &top) {
    for_each_context(top, [](context &c) { lock_give(c.lock, lock_rank::context); });
}

// Rare: what signal handlers gave back and could not uncharge.
void take_all_deferred() {
    if (region().nr_deferred.exchange(0, std::memory_order_relaxed) == 0) return;
    for (std::uint32_t index = 1; index < record_count<obj_cgroup>(); ++index) {
        obj_cgroup &o = record_at<obj_cgroup>(index);
        // One whose last reference has been put just now, or by a handler that could not free it, too.
        if (o.tenant.load(std::memory_order_relaxed) != 0) take_deferred(o);
    }
}

const tenant *common_ancestor(const tenant *a, const tenant *b) {
    while (a != b) {
        if (a->counter.depth >= b->counter.depth)
            a = parent_of(*a);
        else
            b = parent_of(*b);
    }
    return a;
}

void add_to(tenant &t, const refused_charge &charge, std::int64_t sign) {
    if (charge.line != nullptr)
        (t.*charge.line).fetch_add(sign * static_cast<std::int64_t>(charge.bytes), std::memory_order_relaxed);
    if (charge.object_line != nullptr)
        (t.*charge.object_line).fetch_add(sign * static_cast<std::int64_t>(charge.objects), std::memory_order_relaxed);
}

tenant *charge_tree(tenant &t, std::uint64_t bytes, const tenant *stop, charge_limit limit) {
    return limit == charge_limit::none ? charge_over(t, bytes, stop) : tree_try_charge(t, bytes, stop, limit);
}

// A charge without context, with its books; tenants stay, for the drain lock is held. nullptr: charged.
tenant *try_direct(const refused_charge &charge, tenant &to, charge_limit limit) {
    tenant *from = tenant_named_by(charge.from); // nullptr: a new charge
    const tenant *stop = from == nullptr ? nullptr : common_ancestor(from, &to);
    tenant *level = charge_tree(to, charge.bytes, stop, limit);
    if (level != nullptr) return level;
    add_to(to, charge, 1);
    if (from != nullptr) {
        add_to(*from, charge, -1);
        tree_uncharge(*from, charge.bytes, stop);
    }
    return nullptr;
}

// One that also helps others: a concurrent drain may have made room. nullptr: charged.
tenant *retry(const refused_charge &charge, tenant &asked) {
    if (charge.ctx != nullptr) {
        lock_scope own(charge.ctx->lock, lock_rank::context);
        return context_cover(*charge.ctx);
    }
    lock_scope direct(direct_lock_of(asked.index), lock_rank::direct);
    tenant *level = try_direct(charge, asked, charge_limit::max);
    if (level == nullptr) charge_fitted(asked);
    return level;
}

// With every lock of the subtree held: exactly what is missing, and nothing ahead.
tenant *charge_exactly(const refused_charge &charge, tenant &t, charge_limit limit) {
    if (charge.ctx == nullptr) return try_direct(charge, t, limit);
    context &c = *charge.ctx;
    context_take_over(c);
    std::int64_t stock = c.stock.load(std::memory_order_relaxed);
    if (stock >= 0) return nullptr;
    tenant *level = charge_tree(t, static_cast<std::uint64_t>(-stock), nullptr, limit);
    if (level == nullptr) c.stock.store(0, std::memory_order_relaxed);
    return level;
}

// Everything has been taken that can be, at `top`. What the thread may do beyond max. nullptr: charged.
tenant *charge_beyond(const refused_charge &charge, tenant &asked, const tenant &top, tenant *level) {
    if (may_use_headroom(asked, charge.bytes)) {
        level = charge_exactly(charge, asked, charge_limit::headroom);
        if (level == nullptr) {
            asked.headroom_charges.fetch_add(1, std::memory_order_relaxed);
            return nullptr;
        }
        if (level->counter.depth < top.counter.depth) return level; // it has not been drained yet
    }
    if (charges_here.mode == charge_mode::forced) return charge_exactly(charge, asked, charge_limit::none);
    return level;
}

// Seals, takes and tries over one subtree. nullptr: charged; else the level that has no room.
tenant *drain_subtree(const tenant &top, const refused_charge &charge, tenant &asked) {
    order known = seal_subtree(top, os_membarrier_mode());
    if (known == order::unknown) {
        count_anomaly(); // membarrier has been forbidden since the start: from now on, no stocks
        os_set_membarrier_mode(membarrier_mode::unavailable);
    }
    take_unused(top, known);
    tenant *level = charge_exactly(charge, asked, charge_limit::max);
    if (level == nullptr) charge_fitted(asked);
    if (level != nullptr && level->counter.depth >= top.counter.depth) level = charge_beyond(charge, asked, top, level);
    if (level != nullptr && level->counter.depth >= top.counter.depth) {
        if (charge.ctx != nullptr && charge.d != 0) context_take_back(*charge.ctx, charge.d, asked);
        leave_refusal(*charge.left, charge.obj_cgroup, level->counter.depth, refusal_kind::limit, charge.bytes);
    }
    unlock_subtree(top);
    return level;
}

} // namespace

bool drain_and_charge(const refused_charge &charge) {
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    tenant &asked = *tenant_named_by(charge.obj_cgroup);
    tenant *level = retry(charge, asked);
    if (level == nullptr) return true;
    // No context is opened or closed from here on, and no bytes are charged directly.
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    lock_all_direct();
    take_all_deferred();
    count_event(*level, allot_event_max);
    // A level above may refuse when the first has been drained: then its subtree, which contains the first's.
    const tenant *top = nullptr;
    while (level != nullptr && (top == nullptr || level->counter.depth < top->counter.depth)) {
        top = level;
        level = drain_subtree(*top, charge, asked);
    }
    unlock_all_direct();
    return level == nullptr;
}

void drain_subtree_of(const tenant &top) {
    order known = seal_subtree(top, os_membarrier_mode());
    take_unused(top, known);
    unlock_subtree(top);
}

void membarrier_forbid() {
    if (!region_is_mapped()) return;
    signals_blocked quiet;
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    // First: who takes a context's lock after us is given no batch, so it stays sealed.
    membarrier_mode before = os_membarrier_mode();
    os_set_membarrier_mode(membarrier_mode::unavailable);
    order known = seal_subtree(root_tenant(), before);
    take_unused(root_tenant(), known);
    unlock_subtree(root_tenant());
}

} // namespace allot
