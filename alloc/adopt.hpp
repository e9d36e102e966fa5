// Homes come and go with threads; slabs do not. A thread that ends orphans its home; a thread that begins moves into an
// orphaned one, if there is one, and takes contexts, slabs and inbox as they are.
//
// Threads: any; the orphans' lock (rank "orphans", the first) gives the right to use an orphaned home.
// Invariants: 1. a home is either lived in by one thread or on the orphans' list. 2. Homes are never unmapped.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

// A home for this thread: an orphan, else a new one. nullptr: no memory.
[[nodiscard]] home *home_move_in();
// This thread gives its home up: what it owes is settled, wholly free slabs go back, the home waits for the next thread.
void home_leave(home *);
// Somebody freed objects of an orphaned home: puts them back for it, if it still is one.
void adopt_collect_for(home *);
// Memory is short: takes over every slab of one orphan. True if there was one.
bool adopt_absorb(home *mine);

// Asks another thread to work for a tenant from its next slow path on, which is its next call. False: that thread has no
// home.
bool adopt_ask(std::uint32_t thread_id, allot_tenant *to);

home *homes_first(); // newest first, through next_home; homes are only ever added
std::uint64_t homes_count();

void adopt_child_start();
void thread_child_start(); // a start of the process that another thread of the parent had begun

} // namespace allot
