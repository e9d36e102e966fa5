// malloc and free of a size up to 64 KiB, where the thread owns the slab: the fast path, one screen.
//
// Expected: no locked instruction, no write to a line that another thread writes; lines touched: thread-local pointer, the
// heap's front and choice, slab header line 0, the object, and the context's line where accounted. Every slow path is a tail call.
// README of alloc/ shows the disassembly.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

[[gnu::always_inline]] inline void *fast_alloc_from(std::size_t size_class, std::size_t size) {
    slab *s = chosen_slab(read_shared(thread_here.active), size_class);
    if ((s->list & 1) != 0) [[unlikely]]
        return malloc_slow(size);
    void *slot = slab_pop(s);
    if (!hooks::charge(s->account)) [[unlikely]]
        return malloc_charge_slow(slot, s);
    return slot;
}

[[gnu::always_inline]] inline void *fast_malloc(std::size_t size) {
    if (size <= small_max_bytes) [[likely]]
        return fast_alloc_from(small_class(tables.classes, size), size);
    if (size <= medium_max_bytes) return fast_alloc_from(medium_class(tables.classes, size), size);
    return malloc_slow(size);
}

[[gnu::always_inline]] inline void fast_free(void *p) {
    std::uintptr_t granule = granule_of(p);
    if (granule >= read_shared(arena.granules)) [[unlikely]] // null, foreign, unaligned
        return free_slow(p);
    slab *s = slab_of_granule(granule);
    if (read_shared(s->owner) != read_shared(thread_here.active)->tag) [[unlikely]] // another home's, shared, large
        return free_slow(p);
    if (!slot_starts_at(s, static_cast<std::uint32_t>(granule) & granule_mask)) [[unlikely]] // inside an object
        return free_slow(p);
    if (may_be_marked_free(p, s)) [[unlikely]] // freed already
        return free_slow(p);
    slab_push(s, p);
    if (add_shared(s->countdown, minus_one_slot) == 0) [[unlikely]]
        return free_place_slow(s);
    choose(s);
    if (!hooks::uncharge(s->account)) [[unlikely]]
        return free_uncharge_slow(s);
}

} // namespace allot
