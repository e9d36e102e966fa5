#include "accounting/direct.hpp"

#include "accounting/base/os.hpp"
#include "accounting/charge.hpp"
#include "accounting/drain.hpp"
#include "accounting/obj_cgroup.hpp"

namespace allot {

namespace {

std::atomic<std::int64_t> tenant::*line_of(charge_kind kind) {
    return kind == charge_kind::large ? &tenant::large : &tenant::external;
}
constexpr charge_kind all_kinds[] = {charge_kind::large, charge_kind::external};

std::atomic<std::uint64_t> obj_cgroup::*deferred_of(charge_kind kind) {
    return kind == charge_kind::large ? &obj_cgroup::deferred_large : &obj_cgroup::deferred_external;
}

// Locks the direct lock of the handle's tenant; with it held, the tenant stays.
tenant &lock_tenant_of(std::uint32_t obj_cgroup) {
    for (;;) {
        tenant &t = *tenant_named_by(obj_cgroup);
        lock_take(direct_lock_of(t.index), lock_rank::direct);
        if (tenant_named_by(obj_cgroup) == &t) return t;
        lock_give(direct_lock_of(t.index), lock_rank::direct);
    }
}

bool try_lock_tenant_of(std::uint32_t obj_cgroup, tenant *&t) {
    t = tenant_named_by(obj_cgroup);
    if (!lock_try_for_a_while(direct_lock_of(t->index), lock_rank::direct)) return false;
    if (tenant_named_by(obj_cgroup) == t) return true;
    lock_give(direct_lock_of(t->index), lock_rank::direct);
    return false;
}

void uncharge_line(tenant &t, std::uint64_t bytes, std::atomic<std::int64_t> tenant::*line) {
    std::int64_t have = (t.*line).load(std::memory_order_relaxed);
    if (static_cast<std::int64_t>(bytes) > have) {
        count_anomaly(); // more than was charged: only that much goes back
        bytes = have > 0 ? static_cast<std::uint64_t>(have) : 0;
    }
    (t.*line).fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    tree_uncharge(t, bytes);
}

} // namespace

void take_deferred(obj_cgroup &o) {
    tenant &t = record_at<tenant>(o.tenant.load(std::memory_order_relaxed));
    for (charge_kind kind : all_kinds)
        if (std::uint64_t bytes = (o.*deferred_of(kind)).exchange(0, std::memory_order_relaxed); bytes != 0)
            uncharge_line(t, bytes, line_of(kind));
}

bool charge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind kind) {
    if (obj_cgroup == 0) return true; // of a process that is not accounted
    auto line = line_of(kind);
    if (holds_locks()) [[unlikely]] { // a handler amid our own code
        tenant *t;
        if (!try_lock_tenant_of(obj_cgroup, t)) return false;
        bool fits = tree_try_charge(*t, bytes) == nullptr;
        if (fits) (t->*line).fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
        lock_give(direct_lock_of(t->index), lock_rank::direct);
        return fits;
    }
    {
        tenant &t = lock_tenant_of(obj_cgroup); // a handler that comes while it is held takes the way above
        bool fits = tree_try_charge(t, bytes) == nullptr;
        if (fits) (t.*line).fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
        lock_give(direct_lock_of(t.index), lock_rank::direct);
        if (fits) return true;
    }
    signals_blocked quiet;
    drain_result result = drain_and_charge({.obj_cgroup = obj_cgroup, .bytes = bytes, .line = line});
    if (result.level == nullptr) return true;
    refused(*result.asked, *result.level, bytes);
    return false;
}

void uncharge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind kind) {
    if (obj_cgroup == 0) return;
    auto line = line_of(kind);
    if (holds_locks()) [[unlikely]] { // a handler amid our own code
        tenant *t;
        if (try_lock_tenant_of(obj_cgroup, t)) {
            uncharge_line(*t, bytes, line);
            lock_give(direct_lock_of(t->index), lock_rank::direct);
        } else {
            // Whoever next holds a direct lock for the handle, or drains, takes it.
            (record_at<struct obj_cgroup>(obj_cgroup).*deferred_of(kind)).fetch_add(bytes, std::memory_order_relaxed);
            region().nr_deferred.fetch_add(1, std::memory_order_relaxed);
        }
        return;
    }
    tenant &t = lock_tenant_of(obj_cgroup);
    uncharge_line(t, bytes, line);
    take_deferred(record_at<struct obj_cgroup>(obj_cgroup));
    lock_give(direct_lock_of(t.index), lock_rank::direct);
}

bool transfer_charge(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t objects) {
    if (tenant_named_by(from) == tenant_named_by(to)) return true;
    if (holds_locks()) return false; // a handler amid our own code
    bool is_large = objects == 1 && bytes >= direct_charge_bytes;
    refused_charge charge{.obj_cgroup = to, .bytes = bytes, .objects = objects, .from = from};
    charge.line = is_large ? &tenant::large : &tenant::settled_bytes;
    if (!is_large) charge.object_line = &tenant::settled_objects;
    signals_blocked quiet;
    drain_result result = drain_and_charge(charge);
    if (result.level == nullptr) return true;
    refused(*result.asked, *result.level, bytes);
    return false;
}

} // namespace allot
