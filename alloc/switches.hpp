// Which heap a tenant's handle led to last: what makes a switch between tenants a few instructions.
//
//     thread_here.switches ──► set of the handle: two entries, one line ──► front, heap
//
// A thread that takes turns for many tenants finds the front of each by its handle, without a look at the tenant, the heap or
// the books. What it finds is right for as long as no tenant of the process has ended since it was put here; then it is looked
// at anew, once an entry, by the slow path.
//
// Threads: the home's own. While it uses what it has found the home is busy: a handler might give the heap to another tenant.
// Owner: the home; wiped memory, so that the child of a fork finds nothing here.
// Invariants: 1. An entry's heap serves its tenant, and did when `ended` tenants had ended. A heap that is to serve another one is
//   forgotten here first.
//   2. thread_state::switches is nullptr where a switch means more than to change heaps: no home, no tenant chosen so far,
//   an unaccounted scope, a trace, no accounting.
// Cost: two loads to find a heap; 32 KiB a home that changes tenants, of which as many pages are touched as have handles in them.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

struct switch_entry {
    allot_tenant *tenant; // nullptr: none
    heap_front *front;
    heap *of;
    std::uint64_t ended;
};

struct switch_table {
    static constexpr std::size_t nr_sets = 512, nr_ways = 2;
    alignas(64) switch_entry sets[nr_sets][nr_ways]; // the one put here last is the first

    // Handles of tenants made one after the other differ in their low bits.
    const switch_entry *set_of(allot_tenant *tenant) const {
        return sets[reinterpret_cast<std::uintptr_t>(tenant) % nr_sets];
    }
    switch_entry *set_of(allot_tenant *tenant) { return sets[reinterpret_cast<std::uintptr_t>(tenant) % nr_sets]; }
};
static_assert(sizeof(switch_entry[switch_table::nr_ways]) == 64, "a set is a line");

// Copies the entry of a tenant; false: there is none. The tenant is looked at last: a handler may fork, and the child finds
// nothing from then on.
[[gnu::always_inline]] inline bool switch_known(const switch_table *table, allot_tenant *tenant, switch_entry &known) {
    const switch_entry *e = table->set_of(tenant);
    for (std::size_t way = 0; way < switch_table::nr_ways; ++way, ++e) {
        known = {tenant, e->front, e->of, e->ended};
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (e->tenant == tenant) [[likely]]
            return true;
    }
    return false;
}

// --- for slow paths, in a visit ----------------------------------------------------------------------------------------
// The heap that is known for the tenant and still serves it; nullptr: none.
[[nodiscard]] heap *switches_find(home *, allot_tenant *);
// `ended`: how many tenants had ended before the heap was seen to serve the tenant.
void switches_remember(home *, allot_tenant *, heap *, std::uint64_t ended);
void switches_forget(home *, heap *);

} // namespace allot
