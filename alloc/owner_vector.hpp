// owner_vector: who is charged for each slot of a slab, where that is not one owner for all.
//
// Shared slabs have a vector from the start: the owner's index where the slot lives, 0 where it is free. A private slab
// gets one when the first of its objects is transferred: its exceptions, 0 where the slab's own owner is charged. Such a
// slab's header names nobody as its home's, so that every free of it takes the slow path and looks here; malloc's fast
// path knows nothing of it, since the slots that it pops have no entry. The slab stays so until it is wholly free.
//
// Threads: entries are written by the thread that allocates the slot, by who frees or transfers it, and nobody else; who
//   may do that is settled by the program, as for the object itself. The vector is installed by compare-and-swap.
// Owner: the slab; freed with it. Invariants: 1. each entry that is not 0 holds one reference to its owner.
//   2. A slot that is free, in a list or on its way to one, has entry 0.
//   3. An entry with in_transfer set belongs to the thread that set it: neither freed nor transferred by another.
// Cost: 4 bytes a slot; one exchange a free.
#pragma once

#include "alloc/arena.hpp"

namespace allot {

inline constexpr std::uint32_t in_transfer = std::uint32_t{1} << 31; // no index is that large
// Twice as many where requests are kept, which follow the owners; see requests.hpp.
inline std::size_t owner_vector_bytes(std::uint32_t slot_bytes) {
    return unit_bytes / slot_bytes * sizeof(std::uint32_t) * (hooks::keeps_requests() ? 2 : 1);
}

// acquire: who sees the vector sees it zeroed.
inline std::uint32_t *owners_of(const slab *s) { return __atomic_load_n(&s->owners, __ATOMIC_ACQUIRE); }

inline std::uint32_t slot_index_of(const slab *s, const void *slot) {
    return slot_index(s, static_cast<std::uint32_t>(granule_of(slot)) & granule_mask);
}

// A private slab's vector, made if need be. nullptr: no memory.
[[nodiscard]] std::uint32_t *owner_vector_make(slab *);

// Whom a live block of this slab or large block is charged to; 0: nobody.
[[nodiscard]] std::uint32_t owner_of_block(const slab *, const void *p);
// Whether a block of this process, slot or large, starts at p and was not freed.
[[nodiscard]] bool is_live_block(const slab *, const void *p);

// Takes the owner of a slot that is being freed out of the vector. Reports and aborts if the slot is free, or another
// thread is transferring it.
struct taken_owner {
    std::uint32_t index;
    bool has_reference; // of the slot's own, for the caller to put
};
[[nodiscard]] taken_owner take_owner(slab *, void *slot);

} // namespace allot
