// What the layers above (preload/, the C API) may ask of the allocator.
//
// Threads: any, any time: before constructors, in TSD destructors, after static destructors, in a forked or vforked
//   child. A signal handler that interrupts a slow path is served from a small reserve and never waits for its own
//   thread; one that interrupts the fast path is on its own, as in any libc: malloc is not async-signal-safe.
// Errors: nullptr with errno = ENOMEM, also when a tenant's limit refuses. errno is otherwise left alone, and always by
//   heap_free.
// Cost: heap_malloc and heap_free of a size up to medium_max_bytes: see fast_path.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

struct allot_tenant;

namespace allot {

[[nodiscard]] void *heap_malloc(std::size_t size);
[[nodiscard]] void *heap_calloc(std::size_t count, std::size_t size);
// Like the C function, with glibc's answers at the edges: nullptr behaves like malloc; size 0 frees and gives nullptr.
[[nodiscard]] void *heap_realloc(void *p, std::size_t size);
// alignment must be a power of two; any that the address space can hold.
[[nodiscard]] void *heap_aligned_alloc(std::size_t alignment, std::size_t size);
void heap_free(void *p);
// Bytes that may be used, which is what is charged; constant for the life of the block. 0 for nullptr.
std::size_t heap_usable_size(const void *p);
// free_sized and sized delete: frees, and reports a size that cannot belong to the block.
void heap_free_sized(void *p, std::size_t size);
void heap_free_aligned_sized(void *p, std::size_t alignment, std::size_t size);

// O(1), never touches *p. True for every address inside memory that this allocator manages, live or not.
bool heap_owns(const void *p);

// The tenant to which this thread's allocations are charged. nullptr: the root. Returns the one before.
allot_tenant *heap_set_active(allot_tenant *);
allot_tenant *heap_active();
// From begin to end, nested, this thread's allocations are charged to the root, whichever tenant is active.
void heap_unaccounted_begin();
void heap_unaccounted_end();
// The living tenant that pays for the block; nullptr for nullptr and for blocks that are not charged.
allot_tenant *heap_owner_of(const void *p);

struct heap_statistics {
    std::uint64_t mapped_bytes; // address range taken from the system and usable, touched or not
    std::uint64_t live_bytes;   // usable sizes of live blocks
    std::uint64_t live_objects;
    std::uint64_t large_bytes; // of live_bytes: blocks that have whole units to themselves
    std::uint64_t large_objects;
    std::uint64_t cached_bytes;   // free, kept for reuse, possibly resident
    std::uint64_t metadata_bytes; // headers, heaps, owner vectors
    std::uint64_t homes;          // thread heaps ever made and still held, living and orphaned
};
// Walks every slab header: exact when no other thread allocates, a snapshot with small races otherwise.
heap_statistics heap_statistics_get();

// Gives free memory back to the system, except `keep` bytes of it. Returns the bytes given back. Bounded work a call.
std::size_t heap_trim(std::size_t keep);
// How long freed memory waits for its next use before the system has it back, and how much stays however long it waits.
// unlimited: until somebody asks.
void heap_set_purge(std::uint64_t delay_ms, std::uint64_t retain_bytes);
// A seccomp filter is being set up: what a program that frees is not known to do is not done any more.
void heap_seccomp_seen();

// What to do with a pointer that heap_owns() denies. Set once by preload/; the default reports and aborts.
struct foreign_pointer_handler {
    void (*free)(void *);
    void *(*realloc)(void *, std::size_t);
    std::size_t (*usable_size)(const void *);
};
void heap_set_foreign_handler(const foreign_pointer_handler &);

// Makes everything ready early (for a library constructor). Every function above does it by itself when it is first.
void heap_start();
void heap_after_fork(); // the same in a child, unless it was forked amid a slow path, whose end begins anew

} // namespace allot
