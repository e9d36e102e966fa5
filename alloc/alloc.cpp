#include "alloc/alloc.hpp"

#include "alloc/attempts.hpp"
#include "alloc/emergency.hpp"
#include "alloc/fast_path.hpp"
#include "alloc/fork.hpp"
#include "alloc/large.hpp"
#include "alloc/misuse.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/page_source.hpp"
#include "alloc/requests.hpp"
#include "alloc/trace.hpp"

#include <cerrno>
#include <cstring>

namespace allot {

namespace {

void *out_of_memory() {
    errno = ENOMEM;
    return nullptr;
}

// The block's usable size; reports what is no block.
std::size_t checked_usable_size(const slab *s, const void *p) {
    if (is_cut(s)) {
        check_live_slot(s, p);
        return s->slot_bytes;
    }
    if (s->kind == unit_kind::large && reinterpret_cast<std::uintptr_t>(p) == address_of(s)) return s->large_bytes;
    if (s->kind == unit_kind::reserve) return emergency_usable_size(p);
    misuse_invalid(s, p);
}

// Nobody is asked to give something up for it.
void *smaller_block(std::size_t size) {
    hooks::insistence_scope quiet(insistence::nowait);
    return heap_malloc(size);
}

// As malloc, for a block that has grown before: where there is room behind it.
void *malloc_to_grow(std::size_t size) {
    if (size <= medium_max_bytes) return fast_malloc(size);
    home *h = home_here();
    if (h == nullptr) return out_of_memory();
    if (h->busy) return alloc_amid_slow_path(size, granule_bytes);
    void *p = settled_attempts(
        h, [size](home *in) { return large_alloc(in, in->current, size, granule_bytes, large_room::to_grow).block; });
    return trace_refusal(p, size);
}

void *move_block(void *p, std::size_t was, std::size_t size) {
    int error = errno;
    void *moved = size > was ? malloc_to_grow(size) : smaller_block(size);
    if (moved == nullptr) {
        if (size > was) return nullptr;
        errno = error; // to shrink is never refused: where it stands there is room enough
        note_request(p, size);
        return p;
    }
    std::memcpy(moved, p, was < size ? was : size);
    fast_free(p);
    return moved;
}

} // namespace

void *heap_malloc(std::size_t size) { return fast_malloc(size); }
void heap_free(void *p) { fast_free(p); }

namespace {

void *calloc_large(std::size_t bytes) {
    home *h = home_here();
    if (h == nullptr) return out_of_memory();
    if (h->busy) { // the reserve is not kept clear
        void *p = alloc_amid_slow_path(bytes, granule_bytes);
        return p == nullptr ? nullptr : std::memset(p, 0, bytes);
    }
    bool is_zero = false;
    void *p = settled_attempts(h, [bytes, &is_zero](home *in) {
        large_block large = large_alloc(in, in->current, bytes, granule_bytes);
        is_zero = large.zero;
        return large.block;
    });
    if (p != nullptr && !is_zero) large_clear(p, bytes);
    return trace_refusal(p, bytes);
}

} // namespace

void *heap_calloc_slow(std::size_t count, std::size_t size) {
    std::size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return out_of_memory();
    return bytes > medium_max_bytes ? calloc_large(bytes) : calloc_slow(bytes);
}

void *heap_calloc(std::size_t count, std::size_t size) { return fast_calloc(count, size); }

namespace {

// Changes the size of a large block, if the limits of whoever pays for it allow that. nullptr: refused.
void *resize_large(home *h, slab *s, std::size_t size, bool &must_move) {
    return settled_attempts(h, [=, &must_move](home *in) -> void * {
        large_resized done = large_resize(in, s, size);
        must_move = done.result == large_resize_result::must_move;
        if (done.result != large_resize_result::refused) return done.block;
        errno = ENOMEM;
        return nullptr;
    });
}

void *&grown_at(const void *p) {
    return thread_here.in_home->grown[reinterpret_cast<std::uintptr_t>(p) / granule_bytes % home::nr_grown];
}

// A block that has grown before, where it has units to itself. nullptr: it does not get any.
void *move_to_units(void *p, std::size_t was, std::size_t size) {
    home *h = home_here();
    if (size > medium_max_bytes || h == nullptr || h->busy) return nullptr;
    void *moved;
    {
        visit here(h);
        moved = large_alloc_grown(h, h->current, size);
    }
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, p, was);
    fast_free(p);
    return moved;
}

} // namespace

void *heap_move_slot(void *p, std::size_t was, std::size_t size) {
    bool grows = size > was && thread_here.in_home != nullptr;
    if (grows && grown_at(p) == p)
        if (void *moved = move_to_units(p, was, size); moved != nullptr) return moved;
    void *moved = move_block(p, was, size);
    if (grows && thread_here.in_home != nullptr) grown_at(moved) = moved;
    return moved;
}

void *heap_realloc_slow(void *p, std::size_t size) {
    if (p == nullptr) return heap_malloc(size);
    if (size == 0) {
        heap_free(p);
        return nullptr;
    }
    if (!arena_contains(p)) return foreign_pointers.realloc(p, size);
    slab *s = slab_of(p);
    std::size_t usable = checked_usable_size(s, p);
    if (s->kind == unit_kind::large) {
        home *h = home_here();
        if (h != nullptr && !h->busy) {
            bool must_move = false;
            void *resized = resize_large(h, s, size, must_move);
            if (!must_move) return trace_refusal(resized, size);
        }
        return move_block(p, usable, size);
    }
    if (!may_stay(usable, size)) return heap_move_slot(p, usable, size);
    note_request(p, size);
    if (trace_is_on() && s->generation == process_generation()) [[unlikely]]
        trace_resize(home_here(), p, size, usable);
    return p;
}

void *heap_realloc(void *p, std::size_t size) { return fast_realloc(p, size); }

namespace {

// Everything but a slot, or amid a slow path, whose reserve has to know the alignment.
[[gnu::noinline]] void *aligned_slow(std::size_t alignment, std::size_t size) {
    home *h = home_here();
    if (h == nullptr) return out_of_memory();
    if (h->busy) return alloc_amid_slow_path(size, alignment);
    if (alignment <= medium_max_bytes && size <= medium_max_bytes) {
        void *p = heap_malloc(aligned_bytes(size, alignment));
        note_request(p, size);
        return p;
    }
    return trace_refusal(
        settled_attempts(h, [=](home *in) { return large_alloc(in, in->current, size, alignment).block; }), size);
}

} // namespace

void *heap_aligned_alloc(std::size_t alignment, std::size_t size) {
    if (alignment <= granule_bytes) return fast_malloc(size);
    const home *h = thread_here.in_home;
    if (alignment > medium_max_bytes || size > medium_max_bytes || h == nullptr || h->busy || hooks::keeps_requests())
        [[unlikely]]
        return aligned_slow(alignment, size);
    return fast_malloc(aligned_bytes(size, alignment)); // at most medium_max_bytes, a multiple of each such alignment
}

std::size_t heap_usable_size(const void *p) {
    if (p == nullptr) return 0;
    if (!arena_contains(p)) return foreign_pointers.usable_size(p);
    return checked_usable_size(slab_of(p), p);
}

void heap_free_sized(void *p, std::size_t size) {
    if (p != nullptr && arena_contains(p)) {
        const slab *s = slab_of(p);
        // Any size that this class, and no smaller one, serves; aligned allocations may sit in a larger class.
        if ((is_cut(s) && size > s->slot_bytes) || (s->kind == unit_kind::large && size > s->large_bytes))
            misuse_size(s, p, size);
    }
    fast_free(p);
}

void heap_free_aligned_sized(void *p, std::size_t, std::size_t size) { heap_free_sized(p, size); }

bool heap_owns(const void *p) { return arena_contains(p); }

allot_tenant *heap_owner_of(const void *p) {
    if (p == nullptr || !arena_contains(p)) return nullptr;
    const slab *s = slab_of(p);
    if (s->generation != process_generation()) return nullptr;
    std::uint32_t owner = owner_of_block(s, p);
    return owner == 0 ? nullptr : hooks::tenant_of_owner(owner);
}

std::size_t heap_trim(std::size_t keep) {
    home *h = home_here();
    if (h == nullptr || h->busy) return 0;
    visit here(h);
    home_return_empty_slabs(h);
    std::size_t units = keep >> unit_shift;
    std::uint32_t kept = units < arena_max_units ? static_cast<std::uint32_t>(units) : arena_max_units;
    return std::size_t{units_purge(kept)} << unit_shift;
}

void heap_set_purge(std::uint64_t delay_ms, std::uint64_t retain_bytes) {
    std::uint64_t units = retain_bytes >> unit_shift;
    units_set_purge(
        {delay_ms >= unlimited ? never_purge : delay_ms,
         units < arena_max_units ? static_cast<std::uint32_t>(units) : static_cast<std::uint32_t>(arena_max_units)});
}

void heap_seccomp_seen() {
    units_purge_when_asked_only();
    large_make_no_calls();
}

} // namespace allot
