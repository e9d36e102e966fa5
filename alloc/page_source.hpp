// page_source: who has which units. Slabs and large blocks come from here and return here.
//
// It knows two bits a unit: free, and dirty (it may hold pages of an earlier use, so it is neither zero nor free of
// charge to keep). Free dirty units are the cache: taken again first, given back to the system above a bound.
// Threads: any; one lock, rank "units", taken once a slab or large block, never on the fast path.
// Invariants: 1. a free unit's header says `free`. 2. dirty free units <= cache_max_units after every free.
// Cost: one uncontended lock and a word scan; a system call only when the arena grows or the cache overflows.
#pragma once

#include "alloc/arena.hpp"

namespace allot {

struct unit_run {
    std::uint32_t first; // 0: none could be had
    bool clean;          // every byte is zero
};

// Starts the arena; before anything else here. False: the system gives no memory.
[[nodiscard]] bool units_start();
[[nodiscard]] unit_run units_alloc(std::uint32_t count);
// As units_alloc, with the first unit's address a multiple of alignment (a power of two > unit_bytes).
[[nodiscard]] unit_run units_alloc_aligned(std::uint32_t count, std::size_t alignment);
// The units that follow a run, if they are all free. They may be dirty.
[[nodiscard]] bool units_extend(std::uint32_t first, std::uint32_t count, std::uint32_t more);
void units_free(std::uint32_t first, std::uint32_t count);

// While it lives no unit is taken or freed: whoever looks at headers of others sees one life of each. Nothing is allocated
// or freed under it.
class units_held {
public:
    units_held();
    ~units_held();
    units_held(const units_held &) = delete;
    units_held &operator=(const units_held &) = delete;
};

// Gives dirty free units back to the system until at most `keep` remain. Returns how many were given back.
std::uint32_t units_purge(std::uint32_t keep);

struct unit_statistics {
    std::uint32_t mapped, free, dirty_free;
};
unit_statistics units_statistics();

// In the child of a fork: nothing below the frontier is handed out again, since another thread of the parent may have
// been half-way through changing it.
void units_child_start();

} // namespace allot
