#include "accounting/child.hpp"

#include "accounting/base/mutex.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "accounting/context_table.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/processes.hpp"
#include "accounting/tenant.hpp"

#include <cstring>

namespace allot {

namespace {

void free_locks() {
    region_header &h = region();
    the_region.growth_lock.store(0, std::memory_order_relaxed);
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
    c.nr_contexts.store(0, std::memory_order_relaxed);
    for (auto *part : {&c.min_usage, &c.low_usage, &c.children_min_usage, &c.children_low_usage})
        part->store(0, std::memory_order_relaxed);
    for (auto *line : {&t.large, &t.external, &t.settled_bytes, &t.settled_objects})
        line->store(0, std::memory_order_relaxed);
    for (std::uint32_t e = 0; e < events_capacity; ++e) {
        t.events[e].store(0, std::memory_order_relaxed);
        t.events_local[e].store(0, std::memory_order_relaxed);
    }
    t.first_child = t.next_sibling = t.previous_sibling = t.first_context = t.first_handle = t.hash_next =
        t.nr_children = 0;
}

bool is_living(const tenant *t) {
    return t != nullptr && t->state.load(std::memory_order_relaxed) == tenant_state::living;
}

void rebuild_tenants() {
    for (std::uint32_t index = 1; index < record_count<tenant>(); ++index) empty(record_at<tenant>(index));
    for (std::uint32_t index = 1; index < record_count<tenant>(); ++index) {
        tenant &t = record_at<tenant>(index);
        if (index == root_index) continue;
        // A creation that had not got to its end never happened.
        if (is_living(&t) && is_living(parent_of(t)))
            link_to_parent(t, *parent_of(t));
        else
            record_put<tenant>(index);
    }
}

// References stay, for slabs that the child inherits name handles still; those of contexts go with the contexts.
void rebuild_handles() {
    for (std::uint32_t index = 1; index < record_count<context_record>(); ++index) {
        context_record &c = record_at<context_record>(index);
        if ((c.hot.flags & context_in_use) != 0)
            if (obj_cgroup *o = record_of<obj_cgroup>(c.hot.obj_cgroup))
                o->references.fetch_sub(1, std::memory_order_relaxed);
        std::memset(static_cast<void *>(&c), 0, sizeof c);
        c.hot.index = index;
        record_put<context_record>(index);
    }
    for (std::uint32_t index = 1; index < record_count<obj_cgroup>(); ++index) {
        obj_cgroup &o = record_at<obj_cgroup>(index);
        o.deferred_large.store(0, std::memory_order_relaxed);
        o.deferred_external.store(0, std::memory_order_relaxed);
        tenant *t = record_of<tenant>(o.tenant.load(std::memory_order_relaxed));
        if (o.references.load(std::memory_order_relaxed) == 0)
            record_put<obj_cgroup>(index);
        else
            obj_cgroup_link(o, is_living(t) ? *t : root_tenant());
    }
}

void make_region_own(const options &o) {
    if (the_region.fd == private_region) return; // copied by the fork already
    line_writer path;
    int fd = create_region_file(o.dir, o.hierarchy, path);
    int parents = the_region.fd;
    if (!region_make_own(fd < 0 ? private_region : fd)) {
        // Half of the file's space was there. Memory of its own can always be mapped over what is mapped already.
        if (fd >= 0) {
            os_close(fd);
            os_remove_file(path.c_str());
        }
        if (!region_make_own(private_region)) {
            line_writer out;
            out.text("allot: the child of a fork cannot have tables of its own");
            out.write();
            __builtin_trap();
        }
    }
    os_close(parents);
}

} // namespace

void child_start(const options &o) {
    make_region_own(o);
    region_header &h = region();
    h.ready.store(0, std::memory_order_relaxed);
    free_locks();
    forget_lists(h);
    rebuild_tenants();
    rebuild_handles();
    h.anomalies.store(0, std::memory_order_relaxed);
    h.nr_deferred.store(0, std::memory_order_relaxed);
    h.tables[static_cast<std::uint32_t>(table::processes)].count.store(1, std::memory_order_relaxed);
    h.process = process_register();
    h.ready.store(1, std::memory_order_release);
}

} // namespace allot
