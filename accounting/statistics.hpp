// The statistics of a tenant, as memory.stat lists them.
//
// Threads: any, with the registry lock. Owner: the caller.
// Invariants: slab + large + external = memory.current, when quiet.
// Cost: a walk over the tenants of the subtree and their contexts.
#pragma once

#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

struct statistics {
    std::int64_t value[allot_nr_stats];
};

[[nodiscard]] statistics statistics_of(const tenant &t);         // without its descendants
[[nodiscard]] statistics statistics_of_subtree(const tenant &t); // all but what was requested
// What was requested of the bytes that are there already; the allocator is asked, so without locks.
void add_requested(statistics &, const tenant &top);
// What is of the process and not of a tenant: shown at the root. Without locks.
void add_process_figures(statistics &);

} // namespace allot
