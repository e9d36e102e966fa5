#include "accounting/obj_cgroup.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"
#include "accounting/direct.hpp"
#include "accounting/tenant.hpp"

namespace allot {

namespace {

void unlink_from(obj_cgroup &o, tenant &t) {
    list_remove(t.first_handle, o);
    t.nr_handles--;
}

// Registry lock: the tenant stays, and no drain is amid its last attempt.
void free_handle(obj_cgroup &o) {
    take_deferred(o);
    if (tenant *t = record_of<tenant>(o.tenant.load(std::memory_order_relaxed))) unlink_from(o, *t);
    o.tenant.store(0, std::memory_order_relaxed);
    record_put<obj_cgroup>(index_of(o));
}

// True: these were the last.
bool drop(obj_cgroup &o, std::uint32_t references) {
    std::uint32_t before = o.references.fetch_sub(references, std::memory_order_acq_rel);
    ALLOT_ASSERT(before >= references && "references are put by who grabbed them");
    return before == references;
}

} // namespace

void obj_cgroup_link(obj_cgroup &o, tenant &t) {
    o.tenant.store(t.index, std::memory_order_relaxed);
    list_put(t.first_handle, o, index_of(o));
    t.nr_handles++;
}

std::uint32_t obj_cgroup_new(tenant &t) {
    std::uint32_t index = record_new<obj_cgroup>();
    if (index == 0) return 0;
    obj_cgroup &o = record_at<obj_cgroup>(index);
    o.deferred_large.store(0, std::memory_order_relaxed);
    o.deferred_external.store(0, std::memory_order_relaxed);
    o.references.store(1, std::memory_order_release);
    obj_cgroup_link(o, t);
    return index;
}

void obj_cgroups_reparent(tenant &t, tenant &parent) {
    for (obj_cgroup *o = record_of<obj_cgroup>(t.first_handle); o != nullptr;
         o = record_of<obj_cgroup>(t.first_handle)) {
        unlink_from(*o, t);
        obj_cgroup_link(*o, parent);
    }
}

tenant *tenant_named_by(std::uint32_t index) {
    obj_cgroup *o = record_of<obj_cgroup>(index);
    return o == nullptr ? nullptr : record_of<tenant>(o->tenant.load(std::memory_order_relaxed));
}

bool obj_cgroup_try_grab(std::uint32_t index) {
    obj_cgroup *o = record_of<obj_cgroup>(index);
    if (o == nullptr) return false;
    std::uint32_t seen = o->references.load(std::memory_order_relaxed);
    // acquire: who grabs what the tenant has put already, or what has become another handle since, sees the tenant's
    // new generation; see get_living.
    while (seen != 0)
        if (o->references.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
            return true;
    return false;
}

void obj_cgroup_put_locked(std::uint32_t index) {
    obj_cgroup &o = record_at<obj_cgroup>(index);
    if (drop(o, 1)) free_handle(o);
}

void obj_cgroup_grab(std::uint32_t index, std::uint32_t references) {
    // relaxed: the caller holds a reference, or the tenant does; nothing is ordered by one more.
    if (obj_cgroup *o = record_of<obj_cgroup>(index)) o->references.fetch_add(references, std::memory_order_relaxed);
}

void obj_cgroup_put(std::uint32_t index, std::uint32_t references) {
    obj_cgroup *o = record_of<obj_cgroup>(index);
    if (o == nullptr || !drop(*o, references)) return;
    if (holds_locks()) return; // a signal handler amid our own code: the record is lost, 32 bytes
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    // Only the living tenant's own reference could have been grabbed meanwhile, and then it was not the last.
    free_handle(*o);
}

namespace {

// The tenant behind a C handle if it lives at this moment, without a lock. acquire: its fields are those of this
// generation.
tenant *living_tenant(std::uint32_t index, std::uint32_t generation) {
    tenant *t = record_of<tenant>(index);
    if (t == nullptr || t->generation.load(std::memory_order_acquire) != generation ||
        t->state.load(std::memory_order_acquire) != tenant_state::living)
        return nullptr;
    return t;
}

// Its handle with one reference, without a lock; 0: it does not live any more. A tenant changes its generation before it
// puts its own reference: whoever still sees the old generation after grabbing has grabbed beside that reference.
std::uint32_t get_living(std::uint32_t tenant_index, std::uint32_t generation) {
    tenant *t = living_tenant(tenant_index, generation);
    if (t == nullptr) return 0;
    std::uint32_t index = t->obj_cgroup.load(std::memory_order_relaxed);
    if (!obj_cgroup_try_grab(index)) return 0;
    if (t->generation.load(std::memory_order_relaxed) == generation) return index;
    obj_cgroup_put(index);
    return 0;
}

std::uint32_t get_of_root() {
    std::uint32_t index = root_tenant().obj_cgroup.load(std::memory_order_relaxed);
    obj_cgroup_grab(index); // the root stays
    return index;
}

} // namespace

std::uint32_t obj_cgroup_get(allot_tenant *handle) {
    if (!region_is_mapped()) return 0;
    auto bits = reinterpret_cast<std::uintptr_t>(handle);
    std::uint32_t index = get_living(static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32));
    if (index != 0) [[likely]]
        return index;
    if (holds_locks()) return get_of_root(); // a handler amid our own code cannot wait for the registry
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    index = tenant_or_heir(handle).obj_cgroup.load(std::memory_order_relaxed);
    obj_cgroup_grab(index); // no tenant ends under the registry lock
    return index;
}

std::uint32_t obj_cgroup_of(allot_tenant *handle) {
    if (!region_is_mapped()) return 0;
    // Without a lock: read, then see that the record was not freed meanwhile.
    auto bits = reinterpret_cast<std::uintptr_t>(handle);
    auto generation = static_cast<std::uint32_t>(bits >> 32);
    if (tenant *t = living_tenant(static_cast<std::uint32_t>(bits), generation)) {
        std::uint32_t index = t->obj_cgroup.load(std::memory_order_acquire); // before the next load
        if (t->generation.load(std::memory_order_relaxed) == generation) return index;
    }
    if (holds_locks()) return root_tenant().obj_cgroup.load(std::memory_order_relaxed); // as above
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    return tenant_or_heir(handle).obj_cgroup.load(std::memory_order_relaxed);
}

const std::atomic<std::uint32_t> *tenant_generation(allot_tenant *handle) {
    if (!region_is_mapped()) return nullptr;
    const tenant *t = record_of<tenant>(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle)));
    return t != nullptr ? &t->generation : nullptr;
}

allot_tenant *tenant_of(std::uint32_t index) {
    tenant *t = region_is_mapped() ? tenant_named_by(index) : nullptr;
    while (t != nullptr) {
        // A tenant gives its handles away before it changes its generation, and none ever comes back to it.
        allot_tenant *handle = handle_to(*t); // an acquire: what is loaded next is no older
        tenant *now = tenant_named_by(index);
        if (now == t) return handle;
        t = now;
    }
    return tenant_root();
}

} // namespace allot
