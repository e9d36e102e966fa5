#include "accounting/drain.hpp"

#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/context_table.hpp"
#include "accounting/direct.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/shared/lease.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/stalls.hpp"
#include "accounting/thread_charges.hpp"

namespace allot {

// Memory order. Owner (context.hpp): store net, then load hi. Drainer: store hi, membarrier, load net. Without a fence
// in the owner both could read the old value: an allocation that its drainer does not see and that does not see the
// drainer, whose bytes are then given to another. The membarrier is that fence, placed by the kernel into the owner
// between two of its instructions: an operation whose addition came before it is seen by the loads that follow; one whose
// addition comes after it loads hi after it, finds the seal, and waits for the lock. A context that was sealed before and
// has been through its owner's slow path since needs none.

// Who must be locked before a refusal is real. A charge is in flight while some levels have been charged and a higher one
// may still refuse it: only then can a level look fuller than it is. Where no level above the refusing one has a limit,
// every charge that has reached it is there to stay, so that only stock is in the way: those who hold some are locked, and
// nobody else can begin to (context_begin_holding). Where a level above has one, everyone below is locked.
enum class whom : std::uint32_t { nobody, holders, everyone };

void lock_all_direct() {
    for (lock_line &line : region().direct_locks) lock_take(line.word, lock_rank::direct);
}
void unlock_all_direct() {
    for (lock_line &line : region().direct_locks) lock_give(line.word, lock_rank::direct);
}
void pass_direct_locks() {
    for (lock_line &line : region().direct_locks) lock_scope pass(line.word, lock_rank::direct);
}

namespace {

whom must_lock(const tenant &level) {
    if (is_shared(level)) return whom::holders; // a charge is one operation there: nothing is in flight
    for (const tenant *t = parent_of(level); t != nullptr; t = parent_of(*t))
        if (t->counter.max.load(std::memory_order_relaxed) < unlimited) return whom::everyone;
    return whom::holders;
}

// Calls visit on each context of the subtree, or of those that are counted as holding and of others on the way to them,
// passing over what has none. Registry lock.
template<class Visit>
void for_each_context(const tenant &top, whom who, Visit visit) {
    if (who == whom::nobody) return;
    for (const tenant *t = &top; t != nullptr;) {
        const auto &count = who == whom::everyone ? t->counter.nr_contexts : t->counter.nr_holding;
        bool has_any = count.load(std::memory_order_seq_cst) != 0;
        for (std::uint32_t index = has_any ? t->first_context : 0; index != 0;) {
            context_record &c = record_at<context_record>(index);
            index = c.cold.next;
            visit(c.hot);
        }
        t = has_any ? next_in_subtree(*t, top) : next_outside(*t, top);
    }
}

enum class order : std::uint32_t { established, unknown };

// One subtree whose stocks are taken. From seal() on, every owner's operation waits, or has its net visible once the order
// is established; the owner of `own` does this, and has locked it already.
class drained_subtree {
public:
    drained_subtree(const tenant &top, whom who, const context *own) : top_(top), who_(who), own_(own) {}

    order seal(membarrier_mode mode) {
        bool must_order = false;
        for_each_context(top_, who_, [&](context &c) {
            bool is_held = (c.flags.load(std::memory_order_seq_cst) & context_holding) != 0;
            if (&c == own_ || (who_ == whom::holders && !is_held)) return;
            lock_take(c.lock, lock_rank::context);
            // Its owner may have ceased to hold anything meanwhile, and then no count leads to it.
            if (who_ == whom::holders && !has_flag(c, context_holding)) return lock_give(c.lock, lock_rank::context);
            if (!has_flag(c, context_sealed)) {
                context_seal(c);
                set_flag(c, context_unordered);
            }
            must_order |= has_flag(c, context_unordered);
        });
        return !must_order || os_membarrier(mode) ? order::established : order::unknown;
    }

    // With an unknown order, contexts whose net may be old keep what they have; their owners give it back themselves.
    void take_unused(order known) {
        for_each_locked([&](context &c) {
            if (has_flag(c, context_unordered)) {
                if (known == order::unknown) return;
                clear_flag(c, context_unordered);
            }
            context_forget_swing(c);
            std::int64_t unused = context_unused(c);
            if (unused <= 0) return;
            c.stock.store(c.stock.load(std::memory_order_relaxed) - unused, std::memory_order_relaxed);
            tree_uncharge(*tenant_named_by(c.obj_cgroup), static_cast<std::uint64_t>(unused));
        });
    }

    // Only now are they not counted any more: until then the counts lead to them.
    void unlock() {
        for_each_locked([](context &c) {
            context_settle_holding(c, *tenant_named_by(c.obj_cgroup));
            lock_give(c.lock, lock_rank::context);
        });
    }

private:
    // Others may have begun to be counted since, without holding anything.
    template<class Visit>
    void for_each_locked(Visit visit) {
        for_each_context(top_, who_, [&](context &c) {
            if (&c != own_ && lock_is_mine(c.lock)) visit(c);
        });
    }

    const tenant &top_;
    const whom who_;
    const context *const own_;
};

// Handles end under the registry lock, which who calls holds. Also one whose last reference has been put by a handler that
// could not free it.
void take_all_deferred() {
    for (std::uint32_t index = 1; index < record_count<obj_cgroup>(); ++index) {
        obj_cgroup &o = record_at<obj_cgroup>(index);
        if (o.tenant.load(std::memory_order_relaxed) != 0) take_deferred(o);
    }
}

// Rare: what signal handlers gave back and could not uncharge, in handles and in contexts. Each hint is taken before what it
// hints at is looked for.
void take_what_handlers_left() {
    bool in_handles = region().nr_deferred.load(std::memory_order_relaxed) != 0;
    bool in_contexts = region().handlers_left.load(std::memory_order_relaxed) != 0;
    if (!in_handles && !in_contexts) [[likely]]
        return;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    if (in_handles && region().nr_deferred.exchange(0, std::memory_order_acquire) != 0) take_all_deferred();
    if (in_contexts && region().handlers_left.exchange(0, std::memory_order_acquire) != 0)
        drain_subtree_of(root_tenant());
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
        (lines_of(t).*charge.line).fetch_add(sign * static_cast<std::int64_t>(charge.bytes), std::memory_order_relaxed);
    if (charge.object_line != nullptr)
        (lines_of(t).*charge.object_line)
            .fetch_add(sign * static_cast<std::int64_t>(charge.objects), std::memory_order_relaxed);
}

// A move is one operation where processes share the tree.
tenant *move_shared(tenant &from, tenant &to, std::uint64_t bytes, charge_limit limit) {
    const shared::outcome o = shared::ledger_move(from.counter.account, to.counter.account, bytes,
                                                  shared::beyond{static_cast<std::uint32_t>(limit)});
    if (o.is == shared::verdict::void_) count_anomaly(); // more than was charged: nothing is moved, and nothing refused
    if (o.is != shared::verdict::refused) return nullptr;
    tenant *level = &to;
    while (level->counter.depth > o.depth) level = parent_of(*level);
    return level;
}

tenant *charge_tree(tenant &t, std::uint64_t bytes, const tenant *stop, charge_limit limit) {
    return limit == charge_limit::none ? charge_over(t, bytes, stop) : tree_try_charge(t, bytes, stop, limit);
}

// A charge without context, with its books; tenants stay, for the drain lock is held. nullptr: charged.
tenant *try_direct(const refused_charge &charge, tenant &to, charge_limit limit) {
    tenant *from = tenant_named_by(charge.from); // nullptr: a new charge
    if (from != nullptr && is_shared(to)) {
        if (tenant *level = move_shared(*from, to, charge.bytes, limit)) return level;
        add_to(to, charge, 1);
        add_to(*from, charge, -1);
        return nullptr;
    }
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

// Whether a charge that the level refuses, after a drain of top, is refused: not by a level above, which has not been drained,
// and not by one below whose usage may be a charge on its way that top refuses too.
bool is_decided(const tenant &level, const tenant &top, whom locked) {
    if (&level == &top) return true;
    return level.counter.depth > top.counter.depth && (locked == whom::everyone || is_shared(level));
}

// Everything has been taken that can be, at `top`. What the thread may do beyond max. nullptr: charged.
tenant *charge_beyond(const refused_charge &charge, tenant &asked, const tenant &top, whom locked, tenant *level) {
    if (may_use_headroom(asked, charge.bytes)) {
        level = charge_exactly(charge, asked, charge_limit::headroom);
        if (level == nullptr) {
            figures_of(asked).headroom_charges.fetch_add(1, std::memory_order_relaxed);
            return nullptr;
        }
        if (!is_decided(*level, top, locked)) return level;
    }
    if (charges_here.mode == charge_mode::forced) return charge_exactly(charge, asked, charge_limit::none);
    return level;
}

// What a drain holds beside the drain lock and contexts, until its end: the registry lock, and direct locks of tenants.
class drain_locks {
public:
    drain_locks() = default;
    ~drain_locks() {
        for (std::uint32_t stripe = 0; stripe < nr_direct_locks; ++stripe)
            if ((direct_ >> stripe & 1) != 0) lock_give(region().direct_locks[stripe].word, lock_rank::direct);
        if (has_registry_) lock_give(region().registry_lock.word, lock_rank::registry);
    }
    drain_locks(const drain_locks &) = delete;
    drain_locks &operator=(const drain_locks &) = delete;

    void lock_registry() {
        if (!has_registry_) lock_take(region().registry_lock.word, lock_rank::registry);
        has_registry_ = true;
    }
    // Those of the subtree that are not locked yet. With the registry lock, and no context's.
    void lock_direct(const tenant &top) {
        constexpr std::uint32_t all = (std::uint32_t{1} << nr_direct_locks) - 1;
        std::uint32_t needed = 0;
        for (const tenant *t = &top; t != nullptr && needed != all; t = next_in_subtree(*t, top))
            needed |= std::uint32_t{1} << t->index % nr_direct_locks;
        for (std::uint32_t stripe = 0; stripe < nr_direct_locks; ++stripe)
            if (((needed & ~direct_) >> stripe & 1) != 0)
                lock_take(region().direct_locks[stripe].word, lock_rank::direct);
        direct_ |= needed;
    }

private:
    bool has_registry_ = false;
    std::uint32_t direct_ = 0; // a bit a stripe
};

// Of the other processes of a shared tree, for the time of one attempt.
class drained_others {
public:
    drained_others(const tenant &top, std::uint32_t ticket)
        : top_(top), ticket_(ticket), others_(top.counter.node, ticket) {}
    void seal_and_take() {
        if (ticket_ == 0 || !shared::may_look_at_others()) return;
        if (!others_.seal() || os_membarrier_of_all()) others_.take();
    }
    // What was refused meanwhile was refused rightly: nobody has taken anything back, and no other drain has begun.
    [[nodiscard]] bool stood() const {
        return ticket_ == 0 || (others_.all_held() && shared::lease_extend(ticket_, top_.counter.node));
    }
    ~drained_others() {
        if (ticket_ != 0) others_.unlock();
    }
    drained_others(const drained_others &) = delete;
    drained_others &operator=(const drained_others &) = delete;

private:
    const tenant &top_;
    const std::uint32_t ticket_;
    shared::remote_drain others_;
};

// Seals, takes and tries over one subtree. nullptr: charged; else the level that has no room. `ticket`: of the lease, 0 where
// nobody shares the tree; cleared if what was refused may fit once more is drained.
tenant *drain_subtree(const tenant &top, whom who, const refused_charge &charge, tenant &asked, std::uint32_t &ticket,
                      bool is_last) {
    drained_others others(top, ticket);
    others.seal_and_take();
    if (charge.ctx != nullptr) lock_take(charge.ctx->lock, lock_rank::context);
    drained_subtree below(top, who, charge.ctx);
    order known = below.seal(os_membarrier_mode());
    if (known == order::unknown) {
        count_anomaly(); // membarrier has been forbidden since the start: from now on, no stocks
        os_set_membarrier_mode(membarrier_mode::unavailable);
    }
    below.take_unused(known);
    tenant *level = charge_exactly(charge, asked, charge_limit::max);
    if (level == nullptr) charge_fitted(asked);
    const bool is_right = level == nullptr || others.stood() || is_last;
    if (!is_right) ticket = 0;
    if (level != nullptr && is_right && is_decided(*level, top, who))
        level = charge_beyond(charge, asked, top, who, level);
    if (level != nullptr && is_right && is_decided(*level, top, who)) {
        if (charge.ctx != nullptr && charge.d != 0) context_take_back(*charge.ctx, charge.d, asked);
        leave_refusal(*charge.left, charge.obj_cgroup, level->counter.depth, refusal_kind::limit, charge.bytes);
    }
    below.unlock();
    if (charge.ctx != nullptr) {
        context_settle_holding(*charge.ctx, asked);
        lock_give(charge.ctx->lock, lock_rank::context);
    }
    return level;
}

// The same with the locks that it needs: where nobody below holds anything, neither the registry's nor a direct one.
tenant *drain_level(const tenant &top, whom who, const refused_charge &charge, tenant &asked, drain_locks &locks,
                    std::uint32_t &ticket, bool is_last) {
    region().draining.store(top.index, std::memory_order_seq_cst);
    if (who == whom::holders && top.counter.nr_holding.load(std::memory_order_seq_cst) == 0) who = whom::nobody;
    if (who != whom::nobody) locks.lock_registry();
    if (who == whom::everyone) locks.lock_direct(top);
    return drain_subtree(top, who, charge, asked, ticket, is_last);
}

} // namespace

namespace {

// The lease of the shared tree, for the time of a drain.
class lease_scope {
public:
    lease_scope() = default;
    ~lease_scope() { give(); }
    lease_scope(const lease_scope &) = delete;
    lease_scope &operator=(const lease_scope &) = delete;
    // For a drain of top; 0 where nobody shares it.
    std::uint32_t take(const tenant &top) {
        if (!is_shared(top)) return 0;
        if (ticket_ == 0 || !shared::lease_extend(ticket_, top.counter.node))
            ticket_ = shared::lease_take(top.counter.node);
        return ticket_;
    }
    void give() {
        if (ticket_ != 0) shared::lease_give(ticket_);
        ticket_ = 0;
    }

private:
    std::uint32_t ticket_ = 0;
};

// Others may keep a lease from lasting as long as a drain; not for ever.
constexpr std::uint32_t attempts_max = 1000;

bool drain_and_try(const refused_charge &charge) {
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    tenant &asked = *tenant_named_by(charge.obj_cgroup);
    tenant *level = retry(charge, asked);
    if (level == nullptr) return true;
    lease_scope lease;
    if (is_shared(asked)) { // another process may have drained, or left what it held to be reaped
        (void)lease.take(*level);
        if (shared::may_look_at_others()) (void)shared::reap_dead(level->counter.node);
        level = retry(charge, asked);
        if (level == nullptr) return true;
    }
    take_what_handlers_left();
    count_event(*level, allot_event_max);
    drain_locks locks;
    const tenant *top = level;
    std::uint32_t attempts = 0;
    for (whom who = must_lock(*top); level != nullptr;) {
        const std::uint32_t lease_for_it = lease.take(*top);
        std::uint32_t ticket = lease_for_it;
        level = drain_level(*top, who, charge, asked, locks, ticket, attempts == attempts_max);
        attempts += ticket != lease_for_it;
        if (ticket != lease_for_it) continue;
        if (level == nullptr || is_decided(*level, *top, who)) break;
        // A level above refuses when the first has been drained: then its subtree, which contains the first's. One below
        // that does had room before: perhaps it has again, once what is on its way has been given up.
        bool is_above = level->counter.depth < top->counter.depth;
        if (is_above) top = level;
        who = is_above ? must_lock(*top) : whom::everyone;
    }
    region().draining.store(0, std::memory_order_relaxed);
    return level == nullptr;
}

} // namespace

bool drain_and_charge(const refused_charge &charge) {
    std::uint64_t begin = os_nanoseconds();
    bool is_charged = drain_and_try(charge);
    stall_past(charge.obj_cgroup, os_nanoseconds() - begin);
    return is_charged;
}

void drain_subtree_of(const tenant &top) {
    drained_subtree below(top, whom::everyone, nullptr);
    order known = below.seal(os_membarrier_mode());
    below.take_unused(known);
    below.unlock();
}

void membarrier_forbid() {
    if (!region_is_mapped()) return;
    signals_blocked quiet;
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    // First: who takes a context's lock after us is given no batch, so it stays sealed.
    shared::forbid_looking();
    membarrier_mode before = os_membarrier_mode();
    os_set_membarrier_mode(membarrier_mode::unavailable);
    drained_subtree everything(root_tenant(), whom::everyone, nullptr);
    order known = everything.seal(before);
    everything.take_unused(known);
    everything.unlock();
}

} // namespace allot
