// Transfer: a live block gets another owner, where it lies.
//
// It exists because blocks are made for one tenant and kept by another: a request's result goes into a cache, a session
// moves. The new owner is charged and the old one credited, or nothing changes.
//
// A block in a shared slab, or a large one, has its owner written somewhere already. The first block that leaves a private
// slab gives it a vector of exceptions (owner_vector.hpp).
//
// Threads: any; not for a block that another thread frees, resizes or transfers at the same time: of two transfers the
//   second waits for the first, a free is reported as misuse.
// Invariants: 1. While in_transfer is set in a block's entry, nobody else changes the entry.
//   2. No home is stopped. A free on a private slab's fast path that has passed the look at the header's owner frees
//      another block, for the program orders the transfer before the free of this one; so it is right to charge the
//      slab's own owner, whatever becomes of the header meanwhile.
// Cost: the tree's drain lock; for the first block of a private slab a vector of 4 bytes a slot. From then on frees of
//   that slab take the slow path, until it is wholly free.
#pragma once

struct allot_tenant;

namespace allot {

// 0; -EINVAL: not a live block, or one that nobody pays for in this process; -ESTALE: there is no such tenant; -ENOMEM:
// refused by a limit of the new owner's, no memory for the vector, or a signal handler amid a slow path. nullptr: the root.
[[nodiscard]] int heap_transfer(void *p, allot_tenant *to);

} // namespace allot
