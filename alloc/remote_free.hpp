// Remote frees: objects whose slab lives in another thread's home.
//
// The object is credited to its owner at once, by the freeing thread; only the slot travels. Slots for one home are
// chained and pushed with one compare-and-swap. A slot on its way is marked free through its first word like any other,
// so freeing it twice is noticed here too; the chain runs through the second.
// Threads: push: any; collect: the thread that lives in the home, or the holder of the orphans' lock for an orphaned one.
// Invariant: a home that a slab once named is never unmapped, and whoever finds in an inbox a slot of a slab that has
//   moved on forwards it, so a stale home pointer is harmless.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

// Takes the slot, which the caller has uncharged and checked.
void remote_free(home *from, slab *, void *slot);
// Sends what is chained.
void remote_flush(home *from);
// Puts every slot of the inbox back into its slab. True if there was any.
bool remote_collect(home *);

// For the recount: calls visit for each slot that is on its way to a home, of every home of the process.
void remote_for_each_pending(void (*visit)(void *slot, void *state), void *state);

} // namespace allot
