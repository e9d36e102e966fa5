#include "accounting/external.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/os.hpp"
#include "accounting/page_counter.hpp"
#include "accounting/tenant_extra.hpp"

#include <cerrno>

namespace allot {

namespace {

// No charge of more succeeds; what is held for its time only shall not overflow the sum.
std::uint64_t to_hold(std::uint64_t bytes) {
    constexpr auto most = static_cast<std::uint64_t>(usage_max);
    return bytes < most ? bytes : most;
}

// Before it is charged, so that the tenant's record stays. `owner` becomes the tenant's, with a reference. 0 or an error.
int hold(allot_tenant *handle, std::uint64_t bytes, std::uint32_t &owner) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_from(handle);
    if (t == nullptr) return -ESTALE;
    if (t->index != root_index) {
        tenant_extra *extra = extra_of(*t);
        if (extra == nullptr) return -ENOMEM;
        extra->external_held += to_hold(bytes);
    }
    owner = t->obj_cgroup.load(std::memory_order_relaxed);
    obj_cgroup_grab(owner);
    return 0;
}

// The record of a handle whose tenant lives, or has ended and is kept; nullptr: there is none any more.
tenant *record_of_handle(const allot_tenant *handle) {
    if (tenant *t = tenant_from(handle)) return t;
    auto bits = reinterpret_cast<std::uintptr_t>(handle);
    auto *t = record_of<tenant>(static_cast<std::uint32_t>(bits));
    bool is_kept = t != nullptr && t->state.load(std::memory_order_relaxed) == tenant_state::ended &&
                   t->generation.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(bits >> 32) + 1;
    return is_kept ? t : nullptr;
}

// Whom to credit, with a reference; the handle holds that much less. 0: the handle is no tenant's any more and nothing is out
// by it, so whoever was its heir is not to lose what others charged.
std::uint32_t hold_less(allot_tenant *handle, std::uint64_t bytes) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = record_of_handle(handle);
    if (t == nullptr) {
        count_anomaly();
        return 0;
    }
    std::uint32_t owner = tenant_or_heir(handle).obj_cgroup.load(std::memory_order_relaxed);
    obj_cgroup_grab(owner);
    tenant_extra *extra = extra_if_any(*t);
    if (extra == nullptr) return owner;
    std::uint64_t less = to_hold(bytes);
    extra->external_held -= less < extra->external_held ? less : extra->external_held;
    if (extra->external_held == 0 && t->state.load(std::memory_order_relaxed) == tenant_state::ended) free_ended(*t);
    return owner;
}

} // namespace

std::uint64_t external_held(const tenant &t) {
    const tenant_extra *extra = extra_if_any(t);
    return extra == nullptr ? 0 : extra->external_held;
}

int external_charge(allot_tenant *handle, std::uint64_t bytes) {
    if (holds_locks()) return -ENOMEM;
    std::uint32_t owner = 0;
    if (int error = hold(handle, bytes, owner); error != 0) return error;
    bool fits = charge_bytes(owner, bytes, charge_kind::external);
    obj_cgroup_put(owner);
    if (!fits) obj_cgroup_put(hold_less(handle, bytes));
    return fits ? 0 : -ENOMEM;
}

void external_uncharge(allot_tenant *handle, std::uint64_t bytes) {
    std::uint32_t owner = holds_locks() ? obj_cgroup_get(handle) : hold_less(handle, bytes);
    uncharge_bytes(owner, bytes, charge_kind::external);
    obj_cgroup_put(owner);
}

} // namespace allot
