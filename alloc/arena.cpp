#include "alloc/arena.hpp"

#include "accounting/base/os.hpp"

#include <atomic>
#include <new>

namespace allot {

namespace {

constexpr slab always_empty() {
    slab s;
    s.list = 1;
    s.owner = nobody;
    return s;
}

} // namespace

constinit slab always_empty_slab = always_empty();
constinit arena_state arena{.base = 0, .granules = 0, .headers = &always_empty_slab, .max_units = 0};

namespace {

// The arena grows in pieces whose headers fill whole pages of 4096 bytes: 32 units, 8 MiB.
constexpr std::uint32_t piece_units = 4096 / sizeof(slab);
constexpr std::size_t growth_units = 4 * piece_units;

// Where the last growth is to end, or ended. Written under the lock of page_source by whoever grows; read by the child of a
// fork that came in between.
constinit std::atomic<std::size_t> growing_to{0};

constinit std::size_t first_unit = 0; // the frontier when this process began

constinit bool reserved = false; // the windows are one PROT_NONE range of ours

// Where headers will lie once they are mapped and written: arena.headers, but for the time before the first piece.
constinit slab *header_window = nullptr;

bool map_at(std::uintptr_t address, std::size_t bytes) {
    return reserved ? os_map_over(address, bytes) : os_map_free(address, bytes);
}

// Headers and units of [frontier, frontier + units), or neither.
bool map_piece(std::size_t frontier, std::size_t units) {
    if (frontier + units > arena.max_units) return false;
    std::uintptr_t headers = reinterpret_cast<std::uintptr_t>(header_window + frontier);
    if (!map_at(headers, units * sizeof(slab))) return false;
    if (map_at(arena.base + (frontier << unit_shift), units << unit_shift)) return true;
    if (!reserved) os_unmap(headers, units * sizeof(slab));
    return false;
}

bool choose_windows(std::uintptr_t start, std::size_t units) {
    header_window = reinterpret_cast<slab *>(start);
    __atomic_store_n(&arena.base, (start + units * sizeof(slab) + unit_bytes - 1) & ~(unit_bytes - 1),
                     __ATOMIC_RELAXED);
    arena.max_units = units;
    if (arena_grow(piece_units - 1, nullptr) == 0) return false;
    // Read by who holds a pointer into the arena, and none has been handed out yet.
    __atomic_store_n(&arena.headers, header_window, __ATOMIC_RELEASE);
    return true;
}

} // namespace

void arena_child_start() {
    std::size_t frontier = arena_frontier(), end = growing_to.load(std::memory_order_relaxed);
    if (end > frontier && !reserved) {
        os_unmap(reinterpret_cast<std::uintptr_t>(header_window + frontier), (end - frontier) * sizeof(slab));
        os_unmap(arena.base + (frontier << unit_shift), (end - frontier) << unit_shift);
    }
    first_unit = frontier;
}

bool arena_start() {
    // A far place that nobody else is given: mmap hands out addresses from the top down, heaps grow from below.
    for (int attempt = 0; attempt < 4; ++attempt) {
        std::uintptr_t random = os_random() & ((std::uint64_t{1} << 13) - 1);
        if (choose_windows(std::uintptr_t{0x100000000000} + (random << 30), arena_max_units)) return true;
    }
    for (std::size_t bytes = std::size_t{1} << 36; bytes >= std::size_t{1} << 26; bytes >>= 1) {
        std::size_t units = bytes / unit_bytes;
        std::uintptr_t start = os_reserve(units * sizeof(slab) + bytes + unit_bytes);
        if (start == 0) continue;
        reserved = true;
        return choose_windows(start, units);
    }
    return false;
}

std::uint32_t arena_grow(std::uint32_t units, std::uint32_t *grown) {
    std::size_t frontier = arena_frontier();
    std::size_t least = (units + piece_units - 1) / piece_units * piece_units;
    // In proportion to what this process has: many processes are small, and each generation of forks begins anew.
    std::size_t share = (frontier - first_unit) / piece_units * piece_units;
    std::size_t want = share > growth_units ? growth_units : share < piece_units ? piece_units : share;
    if (want < least || frontier == 0) want = least;
    // Before the first map, and never taken back before the frontier says the same: see arena_child_start.
    growing_to.store(frontier + want, std::memory_order_relaxed);
    while (!map_piece(frontier, want)) {
        if (want == least) return 0;
        want = least;
    }
    for (std::size_t i = frontier; i < frontier + want; ++i) {
        slab *s = new (header_window + i) slab{};
        set_kind(s, unit_kind::free);
        write_shared(s->owner, nobody);
        s->list = end_of_list(arena.base + (i << unit_shift));
    }
    std::size_t first = frontier;
    if (frontier == 0) { // unit 0 is never handed out
        header_window[0].kind = unit_kind::abandoned;
        first = 1;
    }
    // A plain store: see arena_state.
    __atomic_store_n(&arena.granules, (frontier + want) << granules_shift, __ATOMIC_RELEASE);
    if (grown != nullptr) *grown = static_cast<std::uint32_t>(frontier + want - first);
    return static_cast<std::uint32_t>(first);
}

} // namespace allot
