// The arena: one range of addresses, cut into units of 256 KiB, and one header for each unit.
//
// It exists so that "is this pointer ours, and whose" is arithmetic: no tree, no hash, no access to the memory itself.
// Picture:
//     headers  |h0|h1|h2|…      one of 128 bytes a unit, out of line, mapped as the arena grows
//     units    |u0|u1|u2|…|frontier …      address of unit i = base + i * 256 KiB; unit 0 is never handed out
// Nothing is reserved: both windows lie at a far address that the kernel does not use by itself, and are mapped piece by
// piece behind the frontier, so that address-space limits count only what is used. Where such an address is refused
// (sanitizers, emulators), one PROT_NONE range is reserved instead.
// Invariants: 1. below the frontier every header is mapped and every unit's state is in its header.
//   2. The frontier only grows; a unit is never unmapped, only given back with MADV_DONTNEED, so maps stay few.
//   3. unit 0 is never handed out: 0 names no unit, and its header is nobody's.
// Threads: arena_grow under the lock of page_source; all else any.
#pragma once

#include "alloc/slab.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {

inline constexpr std::size_t arena_max_bytes = std::size_t{1} << 40;
inline constexpr std::size_t arena_max_units = arena_max_bytes / unit_bytes;
inline constexpr std::size_t header_window_bytes = arena_max_units * sizeof(slab);

// Read on every free. Written when the arena starts and grows (granules alone), under the lock of page_source; readers
// may see an older frontier: a pointer that a thread holds was handed to it after the growth that covers it, by a
// synchronisation of the program's own.
struct arena_state {
    std::uintptr_t base;     // of unit 0
    std::uintptr_t granules; // (frontier in units) * granules a unit
    slab *headers;
    std::size_t max_units; // less than arena_max_units where address space is scarce
};
[[gnu::visibility("hidden")]] extern arena_state arena; // hidden: reached without the global offset table

inline constexpr unsigned granules_shift = unit_shift - 4;
inline constexpr std::uint32_t granule_mask = (1U << granules_shift) - 1;

// The granule of p, counted from the base. A pointer that is not aligned to 16 bytes, or lies below the base, gives a
// number beyond every frontier: one comparison answers all three questions.
[[gnu::always_inline]] inline std::uintptr_t granule_of(const void *p) {
    return std::rotr(reinterpret_cast<std::uintptr_t>(p) - read_shared(arena.base), 4);
}
inline bool arena_contains(const void *p) {
    return reinterpret_cast<std::uintptr_t>(p) - read_shared(arena.base) < read_shared(arena.granules) << 4;
}
[[gnu::always_inline]] inline slab *slab_of_granule(std::uintptr_t granule) {
    return read_shared(arena.headers) + (granule >> granules_shift);
}
inline slab *slab_of(const void *p) {
    return read_shared(arena.headers) + ((reinterpret_cast<std::uintptr_t>(p) - read_shared(arena.base)) >> unit_shift);
}
inline slab *slab_at(std::uint32_t unit) { return read_shared(arena.headers) + unit; }
inline std::uint32_t unit_of(const slab *s) { return static_cast<std::uint32_t>(s - read_shared(arena.headers)); }
inline std::uintptr_t address_of(const slab *s) {
    return read_shared(arena.base) + (std::uintptr_t{unit_of(s)} << unit_shift);
}

// Has no slot, and never will.
[[gnu::visibility("hidden")]] extern slab always_empty_slab;

// Chooses and maps the first piece. False: the system gives no memory.
bool arena_start();
// Maps at least `units` more behind the frontier, contiguous, and returns the first; 0 if that cannot be had. Lock held.
std::uint32_t arena_grow(std::uint32_t units, std::uint32_t *grown);
// In the child of a fork: unmaps what another thread of the parent had mapped behind the frontier and not yet said so.
void arena_child_start();
inline std::uint32_t arena_frontier() {
    return static_cast<std::uint32_t>(read_shared(arena.granules) >> granules_shift);
}

} // namespace allot
