#include "accounting/tenant.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"
#include "accounting/context_table.hpp"
#include "accounting/drain.hpp"
#include "accounting/external.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/registrations.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/shared/remote.hpp"
#include "accounting/tenant_extra.hpp"
#include "accounting/text.hpp"
#include "accounting/thread_charges.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>

namespace allot {

constinit std::atomic<std::uint64_t> tenants_ended{0};

namespace {

static_assert(offsetof(tenant, on_refusal) == offsetof(tenant, obj_cgroup) + sizeof(tenant::obj_cgroup) &&
                  offsetof(tenant, obj_cgroup) == offsetof(tenant, generation) + 2 * sizeof(std::uint32_t),
              "what is read without a lock is not cleared");

std::uint32_t &bucket_of(std::uint32_t parent, const char *name, std::uint64_t length) {
    std::uint32_t hash = (2166136261u ^ parent) * 16777619u; // FNV-1a
    for (std::uint64_t i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(name[i])) * 16777619u;
    return region().name_buckets[(hash ^ hash >> 16) % nr_name_buckets];
}

bool is_named(const tenant &t, const char *name, std::uint64_t length) {
    return std::memcmp(t.name, name, length) == 0 && t.name[length] == '\0';
}

void unlink_from_parent(tenant &t, tenant &parent) {
    list_remove(parent.first_child, t);
    parent.nr_children--;
    for (tenant *at = &parent; at != nullptr; at = parent_of(*at)) at->nr_descendants--;
    std::uint32_t *link = &bucket_of(parent.index, t.name, std::strlen(t.name));
    while (*link != t.index) link = &record_at<tenant>(*link).hash_next;
    *link = t.hash_next;
}

void clear(tenant &t, std::size_t from, std::size_t to) {
    std::memset(reinterpret_cast<char *>(&t) + from, 0, to - from);
}

// Everything of a fresh or reused record but what is read without a lock: a generation and an index stay, and state and
// handle are what they were of an unused one until the tenant is there.
void initialise(tenant &t, std::uint32_t index, std::uint32_t parent, std::uint32_t depth) {
    std::uint32_t generation = t.generation.load(std::memory_order_relaxed);
    clear(t, 0, offsetof(tenant, counter.parent));
    clear(t, offsetof(tenant, counter.parent) + sizeof t.counter.parent, offsetof(tenant, generation));
    clear(t, offsetof(tenant, on_refusal), offsetof(tenant, index));
    clear(t, offsetof(tenant, index) + sizeof t.index, sizeof t);
    if (t.index != index) t.index = index; // of a fresh one
    // relaxed: an estimate walks up from a tenant that may end meanwhile; whoever has the new one has it through a handle.
    __atomic_store_n(&t.counter.parent, parent, __ATOMIC_RELAXED);
    t.counter.depth = depth;
    t.counter.max.store(unlimited, std::memory_order_relaxed);
    t.counter.high.store(unlimited, std::memory_order_relaxed);
    t.descendants_max.store(no_descendants_max, std::memory_order_relaxed);
    t.generation.store(generation == 0 ? 1 : generation, std::memory_order_release);
}

bool may_have_another(const tenant &parent) {
    for (const tenant *at = &parent; at != nullptr; at = parent_of(*at)) {
        std::uint32_t max = at->descendants_max.load(std::memory_order_relaxed);
        if (max != no_descendants_max && at->nr_descendants >= max) return false;
    }
    return true;
}

// The next name of a path; false at its end. "//" and a slash at the end are accepted, as the kernel's own paths.
bool next_name(const char *&path, const char *&name, std::uint64_t &length) {
    while (*path == '/') ++path;
    name = path;
    while (*path != '\0' && *path != '/') ++path;
    length = static_cast<std::uint64_t>(path - name);
    return length != 0;
}

bool is_path(const char *path) {
    const char *name;
    std::uint64_t length;
    if (path == nullptr || *path != '/') return false;
    for (std::uint32_t depth = 0; next_name(path, name, length); ++depth)
        if (!is_tenant_name(name, length) || depth == tenant_depth_max) return false;
    return true;
}

} // namespace

void link_to_parent(tenant &t, tenant &parent) {
    list_put(parent.first_child, t, t.index);
    parent.nr_children++;
    for (tenant *at = &parent; at != nullptr; at = parent_of(*at)) at->nr_descendants++;
    std::uint32_t &bucket = bucket_of(parent.index, t.name, std::strlen(t.name));
    t.hash_next = bucket;
    bucket = t.index;
}

tenant *tenant_from(const allot_tenant *handle) {
    auto bits = reinterpret_cast<std::uintptr_t>(handle);
    tenant *t = record_of<tenant>(static_cast<std::uint32_t>(bits));
    if (t == nullptr || t->generation.load(std::memory_order_acquire) != static_cast<std::uint32_t>(bits >> 32) ||
        t->state.load(std::memory_order_relaxed) != tenant_state::living)
        return nullptr;
    return t;
}

tenant &tenant_or_heir(const allot_tenant *handle) {
    auto bits = reinterpret_cast<std::uintptr_t>(handle);
    auto index = static_cast<std::uint32_t>(bits);
    auto generation = static_cast<std::uint32_t>(bits >> 32);
    for (tenant *t = record_of<tenant>(index); t != nullptr; t = record_of<tenant>(index)) {
        std::uint32_t now = t->generation.load(std::memory_order_relaxed);
        tenant_state state = t->state.load(std::memory_order_relaxed);
        if (state == tenant_state::living && now == generation) return *t;
        if (state == tenant_state::living || now != generation + 1) break;
        if (state == tenant_state::ended) return *tenant_named_by(t->obj_cgroup.load(std::memory_order_relaxed));
        // A freed record remembers its parent until it is used again, which is as late as can be. After that nobody
        // knows the ancestors any more, and the root stands for them.
        index = t->counter.parent;
        generation = t->heir_generation;
    }
    return root_tenant();
}

bool is_tenant_name(const char *name, std::uint64_t length) {
    if (length == 0 || length >= tenant_name_bytes) return false;
    if (name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'))) return false;
    // A newline would make two lines of one in every list; the kernel refuses it too.
    for (std::uint64_t i = 0; i < length; ++i)
        if (name[i] == '/' || name[i] == '\n' || name[i] == '\0') return false;
    return true;
}

tenant *find_child(const tenant &parent, const char *name, std::uint64_t length) {
    std::uint32_t index = bucket_of(parent.index, name, length);
    while (tenant *t = record_of<tenant>(index)) {
        if (t->counter.parent == parent.index && is_named(*t, name, length)) return t;
        index = t->hash_next;
    }
    return nullptr;
}

bool open_account(tenant &t) {
    t.counter.account = shared::account_open(t.counter.node);
    return t.counter.account != 0;
}

namespace {

// The node of a tenant that this process makes or opens; 0 where nobody shares the tree.
shared::node_or_error node_for(const tenant &parent, const char *name, std::uint64_t length) {
    if (!is_shared(parent)) return {};
    return shared::node_make_child(parent.counter.node, name, length);
}

} // namespace

tenant_or_error create_child(tenant &parent, const char *name, std::uint64_t length) {
    if (length >= tenant_name_bytes) return {nullptr, -ENAMETOOLONG};
    if (!is_tenant_name(name, length)) return {nullptr, -EINVAL};
    if (find_child(parent, name, length) != nullptr) return {nullptr, -EEXIST};
    if (parent.counter.depth == tenant_depth_max) return {nullptr, -ENOSPC};
    if (!is_shared(parent) && !may_have_another(parent)) return {nullptr, -EAGAIN};
    const shared::node_or_error node = node_for(parent, name, length);
    if (node.error != 0) return {nullptr, node.error};
    std::uint32_t index = record_new<tenant>();
    if (index == 0) return {nullptr, -ENOMEM};
    tenant &t = record_at<tenant>(index);
    initialise(t, index, parent.index, parent.counter.depth + 1);
    t.counter.node = node.node;
    std::memcpy(t.name, name, length);
    std::uint32_t handle = obj_cgroup_new(t);
    if (handle == 0) {
        record_put<tenant>(index);
        return {nullptr, -ENOMEM};
    }
    t.obj_cgroup.store(handle, std::memory_order_release);
    link_to_parent(t, parent);
    t.state.store(tenant_state::living, std::memory_order_release);
    return {&t, 0};
}

bool create_root() {
    std::uint32_t index = record_new<tenant>();
    if (index != root_index) return false;
    tenant &t = record_at<tenant>(index);
    initialise(t, index, 0, 0);
    t.counter.node = shared::is_attached() ? shared::root_node : 0;
    std::uint32_t handle = obj_cgroup_new(t);
    t.obj_cgroup.store(handle, std::memory_order_release);
    t.state.store(tenant_state::living, std::memory_order_release);
    return handle != 0;
}

bool is_at_or_below(const tenant &t, const tenant &top) {
    const tenant *at = &t;
    while (at->counter.depth > top.counter.depth) at = parent_of(*at);
    return at == &top;
}

tenant *next_outside(const tenant &t, const tenant &top) {
    const tenant *at = &t;
    while (at != &top) {
        if (tenant *next = record_of<tenant>(at->next_sibling)) return next;
        at = parent_of(*at);
    }
    return nullptr;
}

tenant *next_in_subtree(const tenant &t, const tenant &top) {
    if (tenant *child = record_of<tenant>(t.first_child)) return child;
    return next_outside(t, top);
}

std::uint64_t write_path(const tenant &t, char *buffer, std::uint64_t size) {
    const char *names[tenant_depth_max + 1];
    std::uint32_t depth = 0;
    for (const tenant *at = &t; at != nullptr && at->index != root_index && depth <= tenant_depth_max;
         at = parent_of(*at))
        names[depth++] = at->name;
    return write_names(names, depth, tenant_name_bytes - 1, buffer, size);
}

allot_tenant *tenant_root() { return region_is_mapped() ? handle_to(root_tenant()) : nullptr; }

allot_tenant *tenant_create(allot_tenant *parent, const char *name, int &error) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *p = parent == nullptr ? &root_tenant() : tenant_from(parent);
    if (p == nullptr || name == nullptr) {
        error = p == nullptr ? -ESTALE : -EINVAL;
        return nullptr;
    }
    tenant_or_error result = create_child(*p, name, std::strlen(name));
    error = result.error;
    return result.made == nullptr ? nullptr : handle_to(*result.made);
}

allot_tenant *tenant_open(const char *path, int &error) {
    error = -EINVAL;
    if (!is_path(path)) return nullptr;
    error = -ENOENT;
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *at = &root_tenant();
    const char *name;
    std::uint64_t length;
    while (at != nullptr && next_name(path, name, length)) {
        tenant *child = find_child(*at, name, length);
        // One that another process has made.
        if (child == nullptr && is_shared(*at) && shared::node_child(at->counter.node, name, length).node != 0)
            child = create_child(*at, name, length).made;
        at = child;
    }
    return at == nullptr ? nullptr : handle_to(*at);
}

allot_tenant *tenant_create_path(const char *path) {
    if (!region_is_mapped() || !is_path(path)) return nullptr;
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *at = &root_tenant();
    tenant *first_made = nullptr;
    const char *name;
    std::uint64_t length;
    while (next_name(path, name, length)) {
        tenant *child = find_child(*at, name, length);
        if (child == nullptr) {
            child = create_child(*at, name, length).made;
            if (child == nullptr) break;
            if (first_made == nullptr) first_made = child;
        }
        at = child;
    }
    if (*path == '\0' && length == 0) return handle_to(*at);
    // No room for one of them: those made before it go again, from the lowest up.
    while (first_made != nullptr) {
        tenant &gone = *at;
        at = parent_of(gone);
        bool last = &gone == first_made;
        free_tenant(gone);
        if (last) break;
    }
    return nullptr;
}

void free_tenant(tenant &t) {
    tenant &parent = *parent_of(t);
    unlink_from_parent(t, parent);
    t.heir_generation = parent.generation.load(std::memory_order_relaxed);
    if (region().default_tenant.load(std::memory_order_relaxed) == t.index)
        region().default_tenant.store(parent.index, std::memory_order_release);
    // release: who still sees the old generation sees the record as it was; see obj_cgroup_of.
    t.generation.fetch_add(1, std::memory_order_release);
    tenants_ended.fetch_add(1, std::memory_order_release);
    t.state.store(tenant_state::ended, std::memory_order_release);
    if (external_held(t) == 0) free_ended(t);
}

void free_ended(tenant &t) {
    extra_free(t);
    t.state.store(tenant_state::unused, std::memory_order_release);
    obj_cgroup_put_locked(t.obj_cgroup.load(std::memory_order_relaxed));
    record_put<tenant>(t.index);
}

namespace {

// What this process is charged at t becomes charged at its parent; the node goes if nobody else uses it. False: no room for an
// account there. With all locks of t's contexts, or with none of it charged.
bool move_account_to(tenant &parent, tenant &t) {
    if (!is_shared(t) || t.counter.account == 0) return true;
    if (!has_account(parent)) return false;
    shared::account &from = shared::account_at(t.counter.account);
    (void)shared::ledger_move_all(t.counter.account, from.generation.load(std::memory_order_relaxed),
                                  parent.counter.account);
    return true;
}

// What T has becomes the parent's. Ancestors have been charged for it all along, so nothing of theirs changes but what
// the children protect. All locks that obj_cgroup.hpp's second invariant names are held.
void give_to_parent(tenant &t, tenant &parent) {
    t.counter.min.store(0, std::memory_order_relaxed);
    t.counter.low.store(0, std::memory_order_relaxed);
    page_counter_propagate(t.counter, &parent.counter);
    (void)move_account_to(parent, t); // there is room: see destroy
    auto move = [](auto &from, auto &to) {
        to.fetch_add(from.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
    };
    charge_lines &lines = lines_of(t), &parents = lines_of(parent);
    move(lines.large, parents.large);
    move(lines.external, parents.external);
    move(lines.settled_bytes, parents.settled_bytes);
    move(lines.settled_objects, parents.settled_objects);
    if (!is_shared(t)) { // else they are the node's, which may have other users
        move(t.forced, parent.forced);
        move(t.headroom_charges, parent.headroom_charges);
    }
    if (tenant_extra *extra = extra_if_any(t); extra != nullptr && extra_has_figures(*extra)) {
        if (tenant_extra *heir = extra_of(parent)) {
            move(extra->failures.injected, heir->failures.injected);
            move(extra->delayed_us, heir->delayed_us);
            move(extra->reclaimed, heir->reclaimed);
            move(extra->nr_delayed, heir->nr_delayed); // they wake up as the parent's
        }
    }
    obj_cgroups_reparent(t, parent);
}

// Its contexts are counted at the parent from now on, here and among all processes.
void leave_node(tenant &t, const tenant &parent) {
    if (!is_shared(t)) return;
    if (t.counter.account != 0) {
        shared::account &from = shared::account_at(t.counter.account), &to = shared::account_at(parent.counter.account);
        const std::uint32_t moved = from.nr_contexts.exchange(0, std::memory_order_relaxed);
        to.nr_contexts.fetch_add(moved, std::memory_order_relaxed);
        figures_of(t).nr_contexts.fetch_sub(moved, std::memory_order_relaxed);
        to.nr_holding.fetch_add(from.nr_holding.exchange(0, std::memory_order_seq_cst), std::memory_order_seq_cst);
        shared::account_close(t.counter.account);
        t.counter.account = 0; // a child of a fork must not take it for its parent's
    }
    (void)shared::node_remove(t.counter.node); // unless others use it, or have children there
}

int destroy(allot_tenant *handle) {
    signals_blocked quiet;
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_from(handle);
    if (t == nullptr) return -ESTALE;
    if (t->index == root_index || t->nr_children != 0) return -EBUSY;
    tenant &parent = *parent_of(*t);
    if (t->counter.account != 0 && !has_account(parent)) return -ENOMEM;
    // The handle outlives the loop below even if nothing else names it: its last reference is put by free_tenant.
    lock_all_direct();
    for (context_record *c = record_of<context_record>(t->first_context); c != nullptr;
         c = record_of<context_record>(c->cold.next))
        lock_take(c->hot.lock, lock_rank::context);
    give_to_parent(*t, parent);
    for (context_record *c = record_of<context_record>(t->first_context); c != nullptr;
         c = record_of<context_record>(c->cold.next))
        lock_give(c->hot.lock, lock_rank::context);
    unlock_all_direct();
    contexts_reparent(*t, parent);
    leave_node(*t, parent);
    registrations_end_of(*t);
    free_tenant(*t);
    return 0;
}

} // namespace

int tenant_destroy(allot_tenant *handle) {
    int result = destroy(handle);
    // What the program's own code uses may be freed as soon as this has returned.
    if (result == 0) wait_for_calls_of(handle);
    return result;
}

std::uint64_t current_exact(const tenant &t) {
    // Usage first: what is charged after it and then lies in a stock is not subtracted from a usage that lacks it.
    if (is_shared(t)) {
        const std::uint64_t all = shared_node(t).usage.value.load(std::memory_order_acquire);
        const std::uint64_t unused = shared::unused_below(t.counter.node);
        return all > unused ? all - unused : 0;
    }
    std::uint64_t used = usage_of(t.counter.word.load(std::memory_order_acquire));
    std::uint64_t stocks = 0;
    for (const tenant *at = &t; at != nullptr;) {
        for (context_record *c = record_of<context_record>(at->first_context); c != nullptr;
             c = record_of<context_record>(c->cold.next))
            stocks += context_unused_estimate(c->hot);
        bool has_any = at->counter.nr_contexts.load(std::memory_order_relaxed) != 0;
        at = has_any ? next_in_subtree(*at, t) : next_outside(*at, t);
    }
    return used > stocks ? used - stocks : 0;
}

std::uint64_t tenant_current(allot_tenant *handle) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_from(handle);
    return t == nullptr ? 0 : current_exact(*t);
}

void count_event(tenant &at, allot_event event) {
    figures_of(at).events_local[event].fetch_add(1, std::memory_order_relaxed);
    for (tenant *t = &at; t != nullptr; t = parent_of(*t))
        figures_of(*t).events[event].fetch_add(1, std::memory_order_relaxed);
    if (any_registered(registration_list::listeners)) charges_here.flags |= owes_visit;
}

} // namespace allot
