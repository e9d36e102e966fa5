// Lists of slabs with free slots that sit in no bin, linked through their headers by unit number. 0 ends a list.
//
// Threads: the home's own, or the holder of the orphans' lock for an orphaned home.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

inline void partial_link(std::uint32_t &head, slab *s) {
    s->prev = 0;
    s->next = head;
    if (head != 0) slab_at(head)->prev = unit_of(s);
    head = unit_of(s);
}

inline void partial_unlink(std::uint32_t &head, slab *s) {
    if (s->prev != 0)
        slab_at(s->prev)->next = s->next;
    else
        head = s->next;
    if (s->next != 0) slab_at(s->next)->prev = s->prev;
    s->next = s->prev = 0;
}

} // namespace allot
