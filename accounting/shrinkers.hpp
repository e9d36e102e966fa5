// Shrinkers: a program's caches that can give memory back when a charge would be refused, or when someone asks.
//
// They exist as the kernel's do: count() says how many bytes could be freed, scan() frees some. How much each is asked for
// follows its tenant's protection: what is below memory.min is never taken, what is below memory.low only when nothing else
// helps, and of the rest each gives in proportion.
//
// In proportion means over time: each pass raises what a shrinker owes by its share, and those that owe something are asked.
// One that frees more than it owes, since its objects are large, is not asked for a while. So small reclaims are as fair as
// big ones, although they call only few.
//
// Threads: any that holds no lock, outside user code. One shrinker may run on several threads at once.
// Owner: registrations.hpp.
// Invariants: 1. The tenant at which a reclaim is aimed is not protected from it.
// Cost: one load in a program without shrinkers; else calls of each count() below the tenant, and of some scan()s.
#pragma once

#include "accounting/protection.hpp"
#include "accounting/registrations.hpp"

#include <cstdint>

namespace allot {

// As the C API.
[[nodiscard]] int shrinker_add(allot_tenant *tenant, allot_shrinker_count count, allot_shrinker_scan scan,
                               void *argument);
[[nodiscard]] inline int shrinker_remove(int id) { return registration_remove(id, registration_kind::shrinker); }

struct shrunk {
    std::uint64_t said = 0; // bytes, as the shrinkers say
    std::uint64_t seen =
        0; // and by how much their tenants' usage fell meanwhile, at most what they say; with many contexts, what they say
};
// Whether a subtree has any: a look, without calling them.
[[nodiscard]] bool has_shrinkers(allot_tenant *top);
// Whether one of them is running, on another thread.
[[nodiscard]] bool are_shrinkers_at_work(allot_tenant *top);
// Asks the shrinkers of a subtree for so many bytes. Where it takes from what memory.low protects, that is counted, and
// told to who listens. Nothing where user code may not be called.
shrunk shrink(allot_tenant *top, std::uint64_t bytes);

} // namespace allot
