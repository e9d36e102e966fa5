// obj_cgroup: the handle by which objects name whom they are charged to.
//
// It exists so that a tenant can go while its objects live: they name the handle, the handle names the tenant, and when
// the tenant is destroyed its handles are given to the parent ("reparented"), in one step and without visiting objects.
//
// Threads: grab and put from any thread; the rest under the locks named.
// Owner: whoever holds a reference; the living tenant holds one of its own handle, each context one, each slab and
//   mapping that names it one. The record is freed with the last.
// Invariants: 1. A handle with references belongs to a living tenant.
//             2. Its tenant changes only under drain lock, registry lock, all direct locks and the locks of all contexts
//                of the tenant: whoever holds one of the latter two may rely on it.
// Cost: 32 bytes; a reference is one locked instruction.
#pragma once

#include "accounting/region.hpp"

#include <atomic>
#include <cstdint>

namespace allot {

struct tenant;

struct obj_cgroup {
    static constexpr table in = table::obj_cgroups;

    // Written as invariant 2 says; read without these locks only to find out which lock to take, then looked at again.
    std::atomic<std::uint32_t> tenant;
    // Of whoever names the index from outside. release on put, acquire by the last one: what was done with the handle
    // comes before its end.
    std::atomic<std::uint32_t> references;
    std::uint32_t next, previous; // handles of one tenant, or next in the list of free records; registry lock
    // Bytes given back by a signal handler that could not wait for a lock; taken by the next who uncharges directly for
    // this handle, by drains, and by who frees it. relaxed: the sum is moved by exchange.
    std::atomic<std::uint64_t> deferred_large, deferred_external;
};
static_assert(sizeof(obj_cgroup) == 32);
inline std::uint32_t &free_next_of(obj_cgroup &o) { return o.next; }
inline record_links links_of(obj_cgroup &o) { return {o.next, o.previous}; }
inline std::uint32_t index_of(const obj_cgroup &o) {
    auto first = the_region.records[static_cast<std::uint32_t>(table::obj_cgroups)];
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(&o) - first) / sizeof o);
}

// A handle of t with one reference, or 0. Registry lock.
[[nodiscard]] std::uint32_t obj_cgroup_new(tenant &t);
void obj_cgroup_link(obj_cgroup &o, tenant &t); // into the list of t's handles, and named so; registry lock
// Gives all handles of t to its parent. With the locks of invariant 2.
void obj_cgroups_reparent(tenant &t, tenant &parent);
// Whom the handle's objects belong to; nullptr for what is no handle.
[[nodiscard]] tenant *tenant_named_by(std::uint32_t obj_cgroup);
// Grabs one reference unless the handle has none any more. Without the registry lock the record may have become another
// handle before that: the caller looks again whom it names.
[[nodiscard]] bool obj_cgroup_try_grab(std::uint32_t obj_cgroup);
void obj_cgroup_put_locked(std::uint32_t obj_cgroup); // one; registry lock

} // namespace allot
