// page_source: who has which units. Slabs and large blocks come from here and return here.
//
// It knows two bits a unit, free and dirty, and of each how much of it may hold something (slab::touched_pages): what lies
// behind is zero, so nobody clears it, and costs nothing, so nobody gives it back. Free dirty units are the cache: taken
// again first, given back to the system when they have not been needed for a while (purge.hpp), above a bound, or when
// somebody asks. A slab that has become empty stays cut: its header and its list of slots wait, class by class, for the
// next slab of the class, as long as nobody takes the unit for something else.
//
// Threads: any; one lock, rank "units", taken once a slab or large block, never on the fast path. Units that are going
//   back to the system are nobody's meanwhile, and the lock is free.
// Invariants: 1. a free unit's header says `free`. 2. dirty free units <= the bound of purge.hpp after every free, but for
//   what is to be retained and what the system does not take back. 3. a free unit is dirty iff touched_pages > 0; cut ones
//   are free and dirty, and in the list of their class.
// Cost: one uncontended lock, a word scan, a look at a coarse clock; a system call only when the arena grows or memory
//   goes back.
#pragma once

#include "alloc/arena.hpp"
#include "alloc/purge.hpp"

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
// As units_alloc, where as many units follow that are free, or the arena ends: what is put there may grow.
[[nodiscard]] unit_run units_alloc_with_room(std::uint32_t count);
// For a slab of this class: one that is cut already into slots of it, all free, or any.
struct slab_unit {
    std::uint32_t first; // 0: none could be had
    bool is_cut;
};
[[nodiscard]] slab_unit units_alloc_for_slab(unsigned size_class);
// The units that follow a run, if they are all free, or can be had behind the frontier. They may be dirty.
[[nodiscard]] bool units_extend(std::uint32_t first, std::uint32_t count, std::uint32_t more);
// used_bytes: how much of the run, from its start, was in use since it was taken.
void units_free(std::uint32_t first, std::uint32_t count, std::size_t used_bytes);
// A slab without a live slot, whose list and header may serve again as they are.
void units_free_cut(std::uint32_t unit, std::size_t used_bytes);

// Bytes of the run from its first unit on may hold something, whatever was known of them.
void units_note_used(std::uint32_t first, std::size_t used_bytes);

// While it lives no unit is taken or freed: whoever looks at headers of others sees one life of each. Nothing is allocated
// or freed under it.
class units_held {
public:
    units_held();
    ~units_held();
    units_held(const units_held &) = delete;
    units_held &operator=(const units_held &) = delete;
};

// Gives dirty free units back to the system, long runs first, until at most `keep` remain. Returns how many went.
std::uint32_t units_purge(std::uint32_t keep);
// From the next look at the clock on.
void units_set_purge(const purge_settings &settings);
purge_settings units_purge_settings();
// The process sets up seccomp: from now on nothing goes back by the clock alone, because what a program that frees is not
// known to do may be forbidden, by death. Also in handlers.
void units_purge_when_asked_only();
// Milliseconds, coarse; and when somebody last took or freed units, which is read for nothing.
std::uint64_t units_now_ms();
std::uint64_t units_last_use_ms();

struct unit_statistics {
    std::uint32_t mapped, free, dirty_free;
};
unit_statistics units_statistics();

// In the child of a fork: nothing below the frontier is handed out again, since another thread of the parent may have
// been half-way through changing it.
void units_child_start();

} // namespace allot
