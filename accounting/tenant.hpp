// A tenant: a node of the tree. It has a counter with limits, a name, events, statistics, and a handle (obj_cgroup) by
// which objects name it.
//
// Threads: fields say what protects them. The tree (parent, children, lists) changes under drain lock and registry lock.
// Owner: the region. A destroyed tenant's record is freed at once, whatever of it is still alive (see obj_cgroup.hpp), but
//   for bytes from elsewhere, which nothing but the program's handle of the tenant names (external.hpp).
// Invariants: 1. usage = slab bytes + large + external + unused stock of its contexts, over its subtree, when quiet.
//             2. A tenant's ancestors are alive as long as it is.
//             3. generation changes when the tenant is destroyed: a C handle made before then is stale.
// Cost: a record is 512 bytes; look-up by name is one hash chain.
#pragma once

#include "accounting/page_counter.hpp"
#include "accounting/refusal.hpp"
#include "accounting/region.hpp"
#include "accounting/shared/file.hpp"

#include <allot/stats.h>
#include <allot/tenant.h>

#include <cstdint>

namespace allot {

using shared::charge_lines;

enum class tenant_state : std::uint32_t {
    unused,
    living,
    ended, // destroyed, but its handle still stands for bytes from elsewhere: see external.hpp
};

inline constexpr std::uint32_t events_capacity = 8;
static_assert(allot_nr_events <= events_capacity, "a tenant record has room for 8 events");
inline constexpr std::uint32_t tenant_depth_max = ALLOT_TENANT_DEPTH_MAX;
inline constexpr std::uint32_t tenant_name_bytes = ALLOT_TENANT_NAME_MAX + 1;

struct tenant {
    static constexpr table in = table::tenants;

    page_counter counter;

    // --- identity and place in the tree: written under the registry lock ---
    // These three and `index` are read without a lock, and stored as the atomics that they are when a record is used again.
    // Bumped by who destroys the tenant, release; read by who resolves a C handle, acquire, before and after reading what the
    // handle is for.
    alignas(cache_line_bytes) std::atomic<std::uint32_t> generation;
    std::atomic<tenant_state> state;
    std::atomic<std::uint32_t>
        obj_cgroup; // the living handle; release, acquire by who reads it between two generations
    // Settings, relaxed; written under the drain lock and the registry lock.
    std::atomic<refusal_policy> on_refusal;
    std::atomic<std::uint8_t> kills_group; // memory.oom.group
    std::atomic<std::uint8_t> throttle;    // memory.throttle
    // The tenant's own charges are counted for a plan of failures; read by its chargers' slow paths.
    std::atomic<std::uint8_t> counts_charges;
    std::uint32_t first_child, next_sibling, previous_sibling;
    std::uint32_t first_context; // through context_cold::next; also under the drain lock
    std::uint32_t first_handle;  // handles whose objects belong here, through obj_cgroup::next
    std::uint32_t hash_next;
    std::uint32_t nr_children;
    std::uint32_t heir_generation; // of the parent, once freed: whom a stale handle stands for
    std::uint32_t free_next;
    std::uint32_t index;
    std::atomic<std::uint32_t> extra;           // index of its tenant_extra, 0: none; release, once it is there
    std::atomic<std::uint32_t> descendants_max; // cgroup.max.descendants; `no_descendants_max`: none

    alignas(cache_line_bytes) char name[tenant_name_bytes];

    // Written by who counts one, relaxed: statistics. Own ones, and those of the subtree.
    alignas(cache_line_bytes) std::atomic<std::uint64_t> events_local[events_capacity];
    std::atomic<std::uint64_t> events[events_capacity];

    // Where nobody shares the tenant.
    alignas(cache_line_bytes) charge_lines own;
    // How far beyond max error paths may go. A setting; read by drains, relaxed.
    std::atomic<std::uint64_t> headroom;
    // Statistics, relaxed: bytes charged over a limit because they must not fail, and charges that used headroom.
    std::atomic<std::uint64_t> forced, headroom_charges;
    std::uint32_t nr_descendants; // registry lock
    std::uint32_t nr_handles;     // in the list of first_handle; registry lock
};
static_assert(sizeof(tenant) == 512);

// --- a tenant that processes share: what all see of it is in its node, and what this process is charged in its account -------

inline bool is_shared(const tenant &t) { return t.counter.node != 0; }
inline shared::node &shared_node(const tenant &t) { return shared::node_at(t.counter.node); }

// What is set and what has been counted, of the tenant or its node.
struct level_figures {
    std::atomic<std::uint64_t> &min, &low, &high, &max, &headroom, &peak;
    std::atomic<std::uint32_t> &nr_contexts, &descendants_max;
    std::atomic<refusal_policy> &on_refusal;
    std::atomic<std::uint8_t> &kills_group, &throttle;
    std::atomic<std::uint64_t> &forced, &headroom_charges;
    std::atomic<std::uint64_t> (&events)[events_capacity], (&events_local)[events_capacity];
};
[[gnu::always_inline]] inline level_figures figures_of(const tenant &of) {
    auto &t = const_cast<tenant &>(of); // who holds a tenant may change its figures, whatever else he may not
    if (is_shared(t)) [[unlikely]] {
        shared::node &n = shared_node(t);
        return {n.set.min,  n.set.low,     n.set.high,         n.set.max,    n.headroom,
                n.peak,     n.nr_contexts, n.descendants_max,  n.on_refusal, n.kills_group,
                n.throttle, n.forced,      n.headroom_charges, n.events,     n.events_local};
    }
    page_counter &c = t.counter;
    return {c.min,
            c.low,
            c.high,
            c.max,
            t.headroom,
            c.peak,
            c.nr_contexts,
            t.descendants_max,
            t.on_refusal,
            t.kills_group,
            t.throttle,
            t.forced,
            t.headroom_charges,
            t.events,
            t.events_local};
}
inline std::uint64_t usage(const tenant &t) {
    return is_shared(t) ? shared_node(t).usage.value.load(std::memory_order_relaxed) : usage(t.counter);
}
// Opens this process's account at a shared tenant, where it has none yet. False: there is no room for one, and nothing can be
// charged. Registry lock.
[[nodiscard]] bool open_account(tenant &t);
[[nodiscard]] inline bool has_account(tenant &t) { return !is_shared(t) || t.counter.account != 0 || open_account(t); }
// Of this process alone.
inline charge_lines &lines_of(const tenant &t) {
    return is_shared(t) ? shared::account_at(t.counter.account).lines : const_cast<tenant &>(t).own;
}
inline constexpr std::uint32_t no_descendants_max = ~std::uint32_t{0};

inline record_links links_of(tenant &t) { return {t.next_sibling, t.previous_sibling}; }
inline constexpr std::uint32_t root_index = 1;
inline tenant &root_tenant() { return record_at<tenant>(root_index); }
inline tenant *parent_of(const tenant &t) {
    return record_of<tenant>(__atomic_load_n(&t.counter.parent, __ATOMIC_RELAXED));
}

// --- C handles ------------------------------------------------------------------------------------------------------
inline allot_tenant *handle_to(const tenant &t) {
    // acquire: what the caller loads next is loaded after; see tenant_of.
    std::uint64_t bits = std::uint64_t{t.generation.load(std::memory_order_acquire)} << 32 | t.index;
    return reinterpret_cast<allot_tenant *>(bits); // NOLINT(performance-no-int-to-ptr): never dereferenced
}
// nullptr: stale, or never one. Stays true only under the registry lock.
[[nodiscard]] tenant *tenant_from(const allot_tenant *);
// The tenant, or the nearest ancestor that lives, or the root. Stays true only under the registry lock.
[[nodiscard]] tenant &tenant_or_heir(const allot_tenant *);

// --- the tree; registry lock ----------------------------------------------------------------------------------------
[[nodiscard]] bool is_tenant_name(const char *name, std::uint64_t length);
[[nodiscard]] tenant *find_child(const tenant &parent, const char *name, std::uint64_t length);
struct tenant_or_error {
    tenant *made; // nullptr: see error
    int error;    // a negative errno
};
[[nodiscard]] tenant_or_error create_child(tenant &parent, const char *name, std::uint64_t length);
[[nodiscard]] bool create_root();
void link_to_parent(tenant &t, tenant &parent); // into its list of children and under its name
void free_tenant(tenant &t); // one that has neither children, nor contexts, nor other handles than its own
void free_ended(tenant &t);  // the record of one whose handle stands for nothing any more

[[nodiscard]] bool is_at_or_below(const tenant &t, const tenant &top);

// Pre-order over the subtree of `top`: nullptr after the last.
tenant *next_in_subtree(const tenant &t, const tenant &top);
tenant *next_outside(const tenant &t, const tenant &top); // as if t had no children

// "/" or "/a/b"; the length of the whole, as snprintf. No lock is needed for it to be safe; a name that changes meanwhile
// may be seen torn, but terminated.
std::uint64_t write_path(const tenant &t, char *buffer, std::uint64_t size);

// --- as the C API, with locks ---------------------------------------------------------------------------------------
[[nodiscard]] allot_tenant *tenant_create(allot_tenant *parent, const char *name, int &error);
[[nodiscard]] allot_tenant *tenant_open(const char *path, int &error);
[[nodiscard]] int tenant_destroy(allot_tenant *);
// Bytes used by the subtree, without stocks.
[[nodiscard]] std::uint64_t current_exact(const tenant &t); // registry lock
[[nodiscard]] std::uint64_t tenant_current(allot_tenant *); // takes it

void count_event(tenant &at, allot_event);

} // namespace allot
