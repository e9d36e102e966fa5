// Memory of the allocator for itself: never from its own slabs, never next to a program's objects.
//
// Three kinds. Plain metadata (owner vectors) is recycled by power of two. Wiped memory holds what the fast path sees of
// heaps: the kernel zeroes it in the child of a fork (MADV_WIPEONFORK), however the child was made, so a child finds no
// identity of its parent's threads and starts anew; a vfork child shares it and goes on as its parent. Lasting memory holds
// homes and the rest of heaps: for ever, also in a child, where a call may be half-way through them.
// Threads: any; one lock, rank "metadata".
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

[[nodiscard]] void *metadata_alloc(std::size_t bytes); // zeroed; nullptr: no memory
void metadata_free(void *, std::size_t bytes);         // with the same bytes

// Zeroed, aligned to 128 bytes. Freed only as a whole, by a fork; in the child it is zeroed unless what a handler
// interrupted has written to it since.
[[nodiscard]] void *wiped_alloc(std::size_t bytes);
[[nodiscard]] void *lasting_alloc(std::size_t bytes); // zeroed, aligned to 128 bytes

std::uint64_t metadata_mapped_bytes();
// Every range that was ever mapped here, by this process or its ancestors.
void metadata_for_each_range(void (*visit)(void *state, std::uintptr_t start, std::size_t bytes), void *state);

// The first word of the first wiped chunk: 1 in the process that wrote it, 0 in its children. nullptr before the start.
// Written once by the first thread.
[[gnu::visibility("hidden")]] extern std::uint64_t *fork_mark_here;
// True in a process that was forked since the wiped memory was first used and has not said so yet.
inline bool forked_since_start() {
    std::uint64_t *mark = __atomic_load_n(&fork_mark_here, __ATOMIC_ACQUIRE);
    return mark != nullptr && __atomic_load_n(mark, __ATOMIC_RELAXED) == 0;
}
// In the child: wiped memory is empty again; locks are made anew.
void metadata_child_start();

} // namespace allot
