// Large blocks: more than 64 KiB, or aligned to more than that. Each has whole units to itself; pages that it does not
// touch cost nothing, so rounding to units is a matter of addresses alone.
//
// Threads: any. Not bound to a home: freeing gives the units back at once.
// Usable size: the request rounded up to pages of 4096 bytes, which is what is charged.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

struct large_block {
    void *block; // nullptr with errno = ENOMEM
    bool zero;   // every byte is zero
};
[[nodiscard]] large_block large_alloc(home *, heap *, std::size_t size, std::size_t alignment);
void large_free(home *, slab *, void *p);
// The rest of it, for one whose header says `free` already while its units are not.
void large_free_taken(home *, slab *);
// Changes the size where it stands, within a visit. must_move, refused: nothing changed. It is refused by the limits of
// the tenant that pays for the block; where that is not the one that would pay for it elsewhere, it must move.
enum class large_resize_result { resized, must_move, refused };
[[nodiscard]] large_resize_result large_resize(home *, slab *, std::size_t size);

} // namespace allot
