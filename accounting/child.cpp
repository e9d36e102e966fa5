#include "accounting/child.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/mutex.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/context_table.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/registrations.hpp"
#include "accounting/shared/join.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_extra.hpp"

#include <cstring>

namespace allot {

namespace {

void free_locks() {
    region_header &h = region();
    h.drain_lock.word.store(0, std::memory_order_relaxed);
    h.registry_lock.word.store(0, std::memory_order_relaxed);
    for (lock_line &line : h.direct_locks) line.word.store(0, std::memory_order_relaxed);
}

// Whatever changed lists at the moment of the fork is gone, so they are made anew from what each record says of itself.
void forget_lists(region_header &h) {
    std::memset(h.name_buckets, 0, sizeof h.name_buckets);
    for (table_header &t : h.tables) t.free_head = t.free_tail = 0;
}

void empty(tenant &t) {
    page_counter &c = t.counter;
    c.word.store(0, std::memory_order_relaxed);
    c.peak.store(0, std::memory_order_relaxed);
    take_over_tenant(t);
    c.nr_contexts.store(0, std::memory_order_relaxed);
    c.nr_holding.store(0, std::memory_order_relaxed);
    for (auto *part : {&c.min_usage, &c.low_usage, &c.children_min_usage, &c.children_low_usage})
        part->store(0, std::memory_order_relaxed);
    for (auto *line : {&t.own.large, &t.own.external, &t.own.settled_bytes, &t.own.settled_objects})
        line->store(0, std::memory_order_relaxed);
    for (auto *line : {&t.forced, &t.headroom_charges}) line->store(0, std::memory_order_relaxed);
    t.nr_descendants = 0;
    for (std::uint32_t e = 0; e < events_capacity; ++e) {
        t.events[e].store(0, std::memory_order_relaxed);
        t.events_local[e].store(0, std::memory_order_relaxed);
    }
    t.first_child = t.next_sibling = t.previous_sibling = t.first_context = t.first_handle = t.hash_next =
        t.nr_children = t.nr_handles = 0;
}

bool is_living(const tenant *t) {
    return t != nullptr && t->state.load(std::memory_order_relaxed) == tenant_state::living;
}

bool is_copied(std::uint32_t tenant_index) { return tenant_index != 0 && tenant_index < record_count<tenant>(); }

// All the way up living tenants, each one level below the next: the parent may have reused records between the moments at
// which two of them were copied, and the pieces need not fit.
bool reaches_root(std::uint32_t index) {
    while (index != root_index) {
        if (!is_copied(index)) return false;
        const tenant &t = record_at<tenant>(index);
        const std::uint32_t up = t.counter.parent;
        if (!is_living(&t) || t.name[0] == '\0' || !is_copied(up)) return false;
        if (t.counter.depth != record_at<tenant>(up).counter.depth + 1) return false;
        index = up;
    }
    return true;
}

// A creation that had not got to its end never happened.
void forget_tenant(tenant &t) {
    t.generation.fetch_add(1, std::memory_order_relaxed);
    t.state.store(tenant_state::unused, std::memory_order_relaxed);
    record_put<tenant>(t.index);
}

void rebuild_tenants() {
    for (std::uint32_t index = 1; index < record_count<tenant>(); ++index) {
        tenant &t = record_at<tenant>(index);
        empty(t);
        t.index = index;
        t.name[tenant_name_bytes - 1] = '\0';
    }
    for (std::uint32_t index = root_index + 1; index < record_count<tenant>(); ++index) {
        tenant &t = record_at<tenant>(index);
        if (reaches_root(index))
            link_to_parent(t, *parent_of(t));
        else if (is_living(&t))
            forget_tenant(t);
        else
            record_put<tenant>(index);
    }
}

// The threads that stalled or were delayed are the parent's; so is what they have stalled so far, and what it was charged.
void forget_stalls(tenant_extra &extra) {
    std::memset(static_cast<void *>(&extra.stalls), 0, sizeof extra.stalls);
    for (auto *figure : {&extra.delay_owed_bytes, &extra.unvisited_bytes, &extra.delayed_us, &extra.reclaimed})
        figure->store(0, std::memory_order_relaxed);
    extra.nr_delayed.store(0, std::memory_order_relaxed);
    extra.external_held = 0;
}

// A record belongs to the living tenant that it names and that names it; whatever it counted was the parent's. A plan of
// failures goes on from its beginning.
void rebuild_extras() {
    const std::uint32_t count = record_count<tenant_extra>();
    for (std::uint32_t index = 1; index < record_count<tenant>(); ++index) {
        tenant &t = record_at<tenant>(index);
        std::uint32_t named = t.extra.load(std::memory_order_relaxed);
        bool is_own = is_living(&t) && named != 0 && named < count && record_at<tenant_extra>(named).tenant == index;
        if (!is_own) t.extra.store(0, std::memory_order_relaxed);
    }
    for (std::uint32_t index = 1; index < count; ++index) {
        tenant_extra &extra = record_at<tenant_extra>(index);
        bool is_used =
            is_copied(extra.tenant) && record_at<tenant>(extra.tenant).extra.load(std::memory_order_relaxed) == index;
        forget_stalls(extra);
        extra.failures.counted.store(0, std::memory_order_relaxed);
        extra.failures.injected.store(0, std::memory_order_relaxed);
        if (is_used) continue;
        extra.tenant = 0;
        record_put<tenant_extra>(index);
    }
}

// So many references stand for whatever the child inherited that names a handle: nobody can count it, since the parent
// grabbed and put while the tables were copied, and it need not be counted, since what is inherited is not charged here.
constexpr std::uint32_t inherited_references = std::uint32_t{1} << 30;

// Handles that were in use, or may have been, are never used for something else.
void keep_handles(std::uint32_t count) {
    for (std::uint32_t index = 1; index < count; ++index) {
        obj_cgroup &o = record_at<obj_cgroup>(index);
        o.deferred_large.store(0, std::memory_order_relaxed);
        o.deferred_external.store(0, std::memory_order_relaxed);
        o.references.store(inherited_references, std::memory_order_relaxed);
    }
}

// Each living tenant names its own handle, with its own reference; one that another tenant names too was copied torn.
void give_own_handles(std::uint32_t count) {
    for (std::uint32_t index = 1; index < record_count<tenant>(); ++index) {
        tenant &t = record_at<tenant>(index);
        if (!is_living(&t)) continue;
        std::uint32_t named = t.obj_cgroup.load(std::memory_order_relaxed);
        if (named != 0 && named < count) {
            obj_cgroup &o = record_at<obj_cgroup>(named);
            if (o.references.load(std::memory_order_relaxed) == inherited_references) {
                o.references.store(inherited_references + 1, std::memory_order_relaxed);
                o.tenant.store(index, std::memory_order_relaxed);
                continue;
            }
        }
        std::uint32_t fresh = obj_cgroup_new(t);
        if (fresh == 0) { // no memory: its charges are the root's
            fresh = root_tenant().obj_cgroup.load(std::memory_order_relaxed);
            obj_cgroup_grab(fresh);
        }
        t.obj_cgroup.store(fresh, std::memory_order_relaxed);
    }
}

void rebuild_handles() {
    const std::uint32_t count = record_count<obj_cgroup>();
    keep_handles(count);
    give_own_handles(count);
    for (std::uint32_t index = 1; index < count; ++index) {
        obj_cgroup &o = record_at<obj_cgroup>(index);
        std::uint32_t of = o.tenant.load(std::memory_order_relaxed);
        bool lives = is_copied(of) && is_living(&record_at<tenant>(of));
        obj_cgroup_link(o, lives ? record_at<tenant>(of) : root_tenant());
    }
}

// They were of the parent's threads.
void forget_contexts(region_header &h) {
    contexts_child_start();
    h.tables[static_cast<std::uint32_t>(table::contexts)].count.store(1, std::memory_order_relaxed);
}

} // namespace

// Its tenant may be one that was being made or destroyed when the parent forked.
void keep_default_tenant(region_header &h) {
    std::uint32_t index = h.default_tenant.load(std::memory_order_relaxed);
    if (!is_copied(index) || !is_living(&record_at<tenant>(index)))
        h.default_tenant.store(root_index, std::memory_order_relaxed);
}

void child_start(const options &o) {
    region_child_start();
    join_as_copy();
    region_header &h = region();
    free_locks();
    forget_lists(h);
    forget_contexts(h);
    rebuild_tenants();
    rebuild_extras();
    rebuild_handles();
    keep_default_tenant(h);
    registrations_child_start();
    h.anomalies.store(0, std::memory_order_relaxed);
    h.nr_deferred.store(0, std::memory_order_relaxed);
    h.handlers_left.store(0, std::memory_order_relaxed);
    h.draining.store(0, std::memory_order_relaxed);
    h.uncounted.now.store(0, std::memory_order_relaxed);
    h.uncounted.peak.store(0, std::memory_order_relaxed);
    joined_as_copy();
}

} // namespace allot
