#include "accounting/direct.hpp"

#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/context_table.hpp"
#include "accounting/drain.hpp"
#include "accounting/failures.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/settle.hpp"
#include "accounting/shared/accounts.hpp"

namespace allot {

namespace {

std::atomic<std::int64_t> charge_lines::*line_of(charge_kind kind) {
    return kind == charge_kind::large ? &charge_lines::large : &charge_lines::external;
}
constexpr charge_kind all_kinds[] = {charge_kind::large, charge_kind::external};

std::atomic<std::uint64_t> obj_cgroup::*deferred_of(charge_kind kind) {
    return kind == charge_kind::large ? &obj_cgroup::deferred_large : &obj_cgroup::deferred_external;
}

// Locks the direct lock of the handle's tenant; with it held, the tenant stays. nullptr: the handle names nobody, which
// is a mistake of the caller, who holds no reference.
tenant *lock_tenant_of(std::uint32_t obj_cgroup) {
    for (;;) {
        tenant *t = tenant_named_by(obj_cgroup);
        if (t == nullptr) return nullptr;
        lock_take(direct_lock_of(t->index), lock_rank::direct);
        if (tenant_named_by(obj_cgroup) == t) return t;
        lock_give(direct_lock_of(t->index), lock_rank::direct);
    }
}

// The same without waiting, for a handler amid our own code.
tenant *try_lock_tenant_of(std::uint32_t obj_cgroup) {
    tenant *t = tenant_named_by(obj_cgroup);
    if (t == nullptr || !lock_try_for_a_while(direct_lock_of(t->index), lock_rank::direct)) return nullptr;
    if (tenant_named_by(obj_cgroup) == t) return t;
    lock_give(direct_lock_of(t->index), lock_rank::direct);
    return nullptr;
}

// The direct lock of a handle's tenant, for as long as this lives.
class locked_tenant {
public:
    explicit locked_tenant(std::uint32_t obj_cgroup)
        : tenant_(holds_locks() ? try_lock_tenant_of(obj_cgroup) : lock_tenant_of(obj_cgroup)) {}
    ~locked_tenant() {
        if (tenant_ != nullptr) lock_give(direct_lock_of(tenant_->index), lock_rank::direct);
    }
    locked_tenant(const locked_tenant &) = delete;
    locked_tenant &operator=(const locked_tenant &) = delete;
    [[nodiscard]] tenant *get() const { return tenant_; }

private:
    tenant *tenant_;
};

// A context's lock, for its owner's charges beside net; with it held, the context's tenant stays. A handler amid its
// thread's own slow path has it already: the interrupted code does nothing meanwhile.
class locked_context {
public:
    explicit locked_context(context &c) : word_(c.lock) {
        if (!holds_locks()) {
            lock_take(word_, lock_rank::context);
            took_ = true;
        } else if (!lock_is_mine(word_)) {
            is_locked_ = took_ = lock_try_for_a_while(word_, lock_rank::context);
        }
    }
    ~locked_context() {
        if (took_) lock_give(word_, lock_rank::context);
    }
    locked_context(const locked_context &) = delete;
    locked_context &operator=(const locked_context &) = delete;
    explicit operator bool() const { return is_locked_; }

private:
    lock_word &word_;
    bool is_locked_ = true;
    bool took_ = false;
};

using tenant_line = std::atomic<std::int64_t> charge_lines::*;

enum class attempt : std::uint32_t { charged, refused, must_drain };

// All that needs no drain, with the lock that keeps t in place.
attempt try_line(tenant &t, std::uint32_t obj_cgroup, std::uint64_t bytes, tenant_line line, refusal &left) {
    if (failure_is_due(t, bytes)) [[unlikely]] {
        leave_refusal(left, obj_cgroup, t.counter.depth, refusal_kind::injected, bytes);
        return attempt::refused;
    }
    tenant *level = tree_try_charge(t, bytes);
    if (level == nullptr) {
        charge_fitted(t);
    } else {
        if (charges_here.mode != charge_mode::atomic || charge_over(t, bytes) != nullptr) return attempt::must_drain;
        count_event(*level, allot_event_max);
    }
    (lines_of(t).*line).fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    return attempt::charged;
}

// One step, for large bytes are uncharged under the locks of several contexts. What was never charged stays out of it.
void uncharge_line(tenant &t, std::uint64_t bytes, tenant_line line) {
    std::atomic<std::int64_t> &here = lines_of(t).*line;
    std::int64_t have = here.load(std::memory_order_relaxed);
    std::uint64_t taken;
    do {
        std::uint64_t some = have > 0 ? static_cast<std::uint64_t>(have) : 0;
        taken = bytes < some ? bytes : some;
    } while (!here.compare_exchange_weak(have, have - static_cast<std::int64_t>(taken), std::memory_order_relaxed));
    if (taken != bytes) count_anomaly();
    tree_uncharge(t, taken);
}

// Whoever next uncharges for the handle, drains, or frees it, takes them.
void defer(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind kind) {
    constexpr auto most = static_cast<std::uint64_t>(usage_max); // nobody has more, and no sum is to overflow
    auto &deferred = record_at<struct obj_cgroup>(obj_cgroup).*deferred_of(kind);
    deferred.fetch_add(bytes < most ? bytes : most, std::memory_order_relaxed);
    region().nr_deferred.fetch_add(1, std::memory_order_release);
}

} // namespace

void take_deferred(obj_cgroup &o) {
    for (charge_kind kind : all_kinds) {
        if ((o.*deferred_of(kind)).load(std::memory_order_relaxed) == 0) [[likely]]
            continue;
        std::uint64_t bytes = (o.*deferred_of(kind)).exchange(0, std::memory_order_relaxed);
        tenant &t = record_at<tenant>(o.tenant.load(std::memory_order_relaxed));
        if (bytes != 0) uncharge_line(t, bytes, line_of(kind));
    }
}

namespace {

// Before a charge without context, which may be the first of this process at a tenant that others share.
bool can_be_charged(std::uint32_t obj_cgroup) {
    if (!shared::is_attached()) [[likely]]
        return true;
    const tenant *t = tenant_named_by(obj_cgroup);
    if (t == nullptr || t->counter.account != 0) return t != nullptr;
    if (holds_locks()) return false; // a handler amid our own code cannot wait for the registry
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *now = tenant_named_by(obj_cgroup);
    return now != nullptr && has_account(*now);
}

} // namespace

bool charge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind kind, refusal &left) {
    left.kind = refusal_kind::none;
    if (obj_cgroup == 0) return true; // of a process that is not accounted
    if (!can_be_charged(obj_cgroup)) return false;
    // No handler runs while a direct lock is held: it could wait for somebody who waits for the lock.
    signals_blocked quiet;
    {
        locked_tenant t(obj_cgroup);
        if (t.get() == nullptr) return false;
        attempt first = try_line(*t.get(), obj_cgroup, bytes, line_of(kind), left);
        if (first != attempt::must_drain) return first == attempt::charged;
    }
    if (holds_locks()) return false;
    return drain_and_charge({.obj_cgroup = obj_cgroup, .bytes = bytes, .line = line_of(kind), .left = &left});
}

bool charge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind kind) {
    refusal left;
    while (!charge_bytes(obj_cgroup, bytes, kind, left))
        if (!settle_refusal(left)) return false;
    if (settle_is_due()) settle_charge(obj_cgroup);
    return true;
}

void uncharge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind kind) {
    if (obj_cgroup == 0) return;
    signals_blocked quiet; // as above
    locked_tenant t(obj_cgroup);
    if (t.get() == nullptr) {
        if (holds_locks())
            defer(obj_cgroup, bytes, kind);
        else
            count_anomaly();
        return;
    }
    uncharge_line(*t.get(), bytes, line_of(kind));
    take_deferred(record_at<struct obj_cgroup>(obj_cgroup));
}

void uncharge_objects(std::uint32_t obj_cgroup, std::uint64_t bytes, std::uint64_t objects) {
    if (obj_cgroup == 0) return;
    signals_blocked quiet; // as above
    locked_tenant t(obj_cgroup);
    if (t.get() == nullptr) return count_anomaly();
    // What contexts hold and this line add up to what lives; alone either may be negative.
    lines_of(*t.get()).settled_bytes.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    lines_of(*t.get()).settled_objects.fetch_sub(static_cast<std::int64_t>(objects), std::memory_order_relaxed);
    tree_uncharge(*t.get(), bytes);
}

void free_inherited(std::uint32_t obj_cgroup, std::uint64_t bytes) {
    if (!shared::is_attached()) [[likely]]
        return;
    const tenant *t = tenant_named_by(obj_cgroup);
    if (t != nullptr && t->counter.account != 0) shared::account_free_inherited(t->counter.account, bytes);
}

bool context_charge_bytes(context *c, std::uint64_t bytes) {
    refusal &left = cold_of(*c).refused; // of uncounted contexts, which have nothing behind them, never touched
    if (c->obj_cgroup == 0) return true;
    {
        locked_context own(*c);
        if (!own) return false;
        attempt first = try_line(*tenant_named_by(c->obj_cgroup), c->obj_cgroup, bytes, &charge_lines::large, left);
        if (first != attempt::must_drain) return first == attempt::charged;
    }
    if (holds_locks()) return false; // a handler amid our own code
    signals_blocked quiet;
    return drain_and_charge({.obj_cgroup = c->obj_cgroup, .bytes = bytes, .line = &charge_lines::large, .left = &left});
}

void context_uncharge_bytes(context *c, std::uint64_t bytes) {
    if (c->obj_cgroup == 0) return;
    locked_context own(*c);
    if (!own) {
        defer(c->obj_cgroup, bytes, charge_kind::large);
        return;
    }
    uncharge_line(*tenant_named_by(c->obj_cgroup), bytes, &charge_lines::large);
    take_deferred(record_at<struct obj_cgroup>(c->obj_cgroup));
}

namespace {

// What is charged through a context is its stock and what is settled, and the rest is on the tenant's line.
void change_book(context &c, std::int64_t to_large, std::int64_t objects) {
    if (c.obj_cgroup == 0) return;
    lock_scope own(c.lock, lock_rank::context);
    context_cold &cold = cold_of(c);
    cold.settled_bytes.store(cold.settled_bytes.load(std::memory_order_relaxed) - to_large, std::memory_order_relaxed);
    cold.settled_objects.store(cold.settled_objects.load(std::memory_order_relaxed) - objects,
                               std::memory_order_relaxed);
    lines_of(*tenant_named_by(c.obj_cgroup)).large.fetch_add(to_large, std::memory_order_relaxed);
}

} // namespace

void context_object_to_large(context *c, std::uint64_t bytes) { change_book(*c, static_cast<std::int64_t>(bytes), 1); }
void context_large_to_object(context *c, std::uint64_t bytes) {
    change_book(*c, -static_cast<std::int64_t>(bytes), -1);
}

bool transfer_charge(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t objects, refusal &left) {
    left.kind = refusal_kind::none;
    if (tenant_named_by(from) == tenant_named_by(to)) return true;
    if (holds_locks() || !can_be_charged(to)) return false; // a handler amid our own code
    bool is_large = objects == 1 && bytes >= direct_charge_bytes;
    refused_charge charge{.obj_cgroup = to, .bytes = bytes, .objects = objects, .from = from, .left = &left};
    charge.line = is_large ? &charge_lines::large : &charge_lines::settled_bytes;
    if (!is_large) charge.object_line = &charge_lines::settled_objects;
    signals_blocked quiet;
    return drain_and_charge(charge);
}

bool transfer_charge(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t objects) {
    refusal left;
    while (!transfer_charge(from, to, bytes, objects, left))
        if (!settle_refusal(left)) return false;
    if (settle_is_due()) settle_charge(to);
    return true;
}

} // namespace allot
