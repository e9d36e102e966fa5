// Memory of the allocator for itself: never from its own slabs, never next to a program's objects.
//
// Two kinds. Plain metadata (owner vectors) is recycled by power of two. Wiped memory holds homes and heaps: the kernel
// zeroes it in the child of a fork (MADV_WIPEONFORK), however the child was made, so a child finds no identity of its
// parent's threads and starts anew; a vfork child shares it and goes on as its parent.
// Threads: any; one lock, rank "metadata".
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

[[nodiscard]] void *metadata_alloc(std::size_t bytes); // zeroed; nullptr: no memory
void metadata_free(void *, std::size_t bytes);         // with the same bytes

// Zeroed, aligned to 128 bytes. Freed only as a whole, by a fork.
[[nodiscard]] void *wiped_alloc(std::size_t bytes);

std::uint64_t metadata_mapped_bytes();
// Every range that was ever mapped here, by this process or its ancestors.
void metadata_for_each_range(void (*visit)(void *state, std::uintptr_t start, std::size_t bytes), void *state);

// True in a process that was forked since the wiped memory was first used and has not said so yet.
bool forked_since_start();
// In the child: wiped memory is empty again; locks are made anew.
void metadata_child_start();

} // namespace allot
