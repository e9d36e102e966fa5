// What programs asked for, block by block: for memory.stat's `requested` where the option of that name says `exact`.
//
// Without the option it is estimated from what slow paths see (memory_figures.hpp). With it every request is to be seen, so
// nobody gets slabs of his own, whose slots are taken without a slow path: all live in shared slabs, and their vectors
// have a second half, of what was asked for each slot. A large block's header keeps what it has beyond that in any case.
//
// Threads: a block's request is written by who allocates or resizes it; read by anyone, as it is at some moment.
// Owner: the slab's vector. Invariants: 1. Only entries of slots that have an owner mean anything.
// Cost: without the option one load where a block is aligned or resized; with it a slow path for every call, 4 bytes a slot,
//   and a look at every block for each reading.
#pragma once

#include "alloc/arena.hpp"

namespace allot {

// The block is this thread's, and just allocated or resized where it stands.
void note_request_exactly(void *p, std::size_t size);
inline void note_request(void *p, std::size_t size) {
    if (hooks::keeps_requests() && p != nullptr) [[unlikely]]
        note_request_exactly(p, size);
}

// Calls add for each live block of this process: whose it is, what was asked for, what it takes. Takes the lock of units.
void requested_exactly(void (*add)(void *state, std::uint32_t owner, std::uint64_t requested, std::uint64_t usable),
                       void *state);

} // namespace allot
