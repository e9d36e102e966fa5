// malloc and free of a size up to 64 KiB, where the thread owns the slab: the fast path, one screen.
//
// Expected: no locked instruction, no write to a line that another thread writes; lines touched: thread-local pointer, the
// heap's front and choice, slab header line 0, the object, and the context's line where accounted. Every slow path is a tail call.
// README of alloc/ shows the disassembly.
#pragma once

#include "alloc/callers.hpp"
#include "alloc/heap.hpp"
#include "alloc/large.hpp"

#include <cstring>
#include <type_traits>

namespace allot {

// Where the fast path leads to when it finds nothing: the allocator's own calls, and what names itself.
struct plain_misses {
    static void *malloc(std::size_t size) { return malloc_slow(size); }
    static void *calloc(std::size_t count, std::size_t size) { return heap_calloc_slow(count, size); }
    static void *realloc(void *p, std::size_t size) { return heap_realloc_slow(p, size); }
    static void *move(void *p, std::size_t was, std::size_t size) { return heap_move_slot(p, was, size); }
};
// For the exported names: on behalf of whoever has called the function into which this is inlined. That address is loaded after the
// miss.
struct told_misses {
    [[gnu::always_inline]] static void *malloc(std::size_t size) {
        return malloc_for_caller(size, __builtin_return_address(0));
    }
    [[gnu::always_inline]] static void *calloc(std::size_t count, std::size_t size) {
        return calloc_for_caller(count, size, __builtin_return_address(0));
    }
    [[gnu::always_inline]] static void *realloc(void *p, std::size_t size) {
        return realloc_for_caller(p, size, __builtin_return_address(0));
    }
    [[gnu::always_inline]] static void *move(void *p, std::size_t was, std::size_t size) {
        return move_for_caller(p, was, size, __builtin_return_address(0));
    }
};
using caller_misses = std::conditional_t<can_tell_callers, told_misses, plain_misses>;

template<typename Misses>
[[gnu::always_inline]] inline void *fast_alloc_from(std::size_t size_class, std::size_t size) {
    slab *s = chosen_slab(read_shared(thread_here.active), size_class);
    if ((s->list & 1) != 0) [[unlikely]]
        return Misses::malloc(size);
    void *slot = slab_pop(s);
    if (!hooks::charge(s->account)) [[unlikely]]
        return malloc_charge_slow(slot, s);
    return slot;
}

template<typename Misses = plain_misses>
[[gnu::always_inline]] inline void *fast_malloc(std::size_t size) {
    if (size <= small_max_bytes) [[likely]]
        return fast_alloc_from<Misses>(small_class(tables.classes, size), size);
    if (size <= medium_max_bytes) return fast_alloc_from<Misses>(medium_class(tables.classes, size), size);
    return Misses::malloc(size);
}

template<typename Misses = plain_misses>
[[gnu::always_inline]] inline void *fast_calloc(std::size_t count, std::size_t size) {
    std::size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > medium_max_bytes) [[unlikely]]
        return Misses::calloc(count, size);
    slab *s = chosen_slab(read_shared(thread_here.active), class_in(tables.classes, bytes));
    if ((s->list & 1) != 0) [[unlikely]]
        return Misses::calloc(count, size);
    void *slot = slab_pop(s);
    if (!hooks::charge(s->account)) [[unlikely]]
        return calloc_charge_slow(slot, s, bytes);
    return std::memset(slot, 0, bytes);
}

// A block stays where it is while the new size still needs the same slot, or more than half of it.
inline bool may_stay(std::size_t usable, std::size_t size) {
    return size <= usable && (size > usable / 2 || usable <= 64);
}

template<typename Misses = plain_misses>
[[gnu::always_inline]] inline void *fast_realloc(void *p, std::size_t size) {
    std::uintptr_t granule = granule_of(p);
    if (granule >= read_shared(arena.granules) || size == 0) [[unlikely]]
        return Misses::realloc(p, size);
    slab *s = slab_of_granule(granule);
    const heap_front *front = read_shared(thread_here.active);
    if (read_shared(s->owner) == front->tag) {
        if (!slot_starts_at(s, static_cast<std::uint32_t>(granule) & granule_mask) || may_be_marked_free(p, s))
            [[unlikely]]
            return Misses::realloc(p, size);
        return may_stay(s->slot_bytes, size) ? p : Misses::move(p, s->slot_bytes, size);
    }
    return large_resize_here(s, p, front->of, size) ? p : Misses::realloc(p, size);
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
