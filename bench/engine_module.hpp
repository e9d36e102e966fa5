// An allocator with an engine under it, as a library of its own: what it shows the benchmark that loads it.
//
// It exists because the same names are compiled, or linked, for each engine: only as libraries can one program choose
// between them, and so each is called in the same way. liballot-linux.so is the allocator over the kernel's engine,
// liballot-counted.so the production objects with their slow paths counted.
//
// Threads: start and counts by the main thread, while no other allocates. Owner: the library, until the process ends.
// Invariants: start comes before the first allocation, once. Cost: none once started.
#pragma once

#include <cstdint>

namespace allot::bench {

struct engine_setting {
    const char *variant;
    std::uint32_t threads; // that allocate, at most
    std::uint32_t levels;  // below the root; the last is charged
    std::uint32_t
        protected_levels; // from the top: with min and low set, below what a charge of the last level alone uses
    bool keeps_statistics;
};
// In pages. The limit has only to be there: each charge of the tree is compared with it.
inline constexpr std::int64_t level_max_pages = 16ll * 1024 * 1024 * 1024 / 4096;
// Of each level that is protected.
inline constexpr std::int64_t protected_min_pages = 1024, protected_low_pages = 2048, background_pages = 4096;

// nullptr, or what was wrong.
using engine_start = const char *(const engine_setting *);
// Of all threads so far, count by count, each name always at the same place.
using engine_counts = void(void (*add)(void *state, const char *name, std::uint64_t count), void *state);

} // namespace allot::bench
