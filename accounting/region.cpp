#include "accounting/region.hpp"

#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"
#include "accounting/context_table.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/tenant.hpp"
#include "accounting/tenant_extra.hpp"

#include <cstring>

namespace allot {

constinit region_view the_region{.base = 0,
                                 .records = {},
                                 .mapped = {},
                                 .intended = {},
                                 .window_shift = 0,
                                 .placed = region_view::placement::none,
                                 .growth_lock = {}};

namespace {

constexpr std::uint32_t record_bytes[nr_tables] = {sizeof(tenant), sizeof(obj_cgroup), sizeof(context_record),
                                                   sizeof(tenant_extra)};

// Far from where mmap and heaps place things, so that the window stays ours without being reserved.
constexpr std::uintptr_t far_start = 0x200000000000;
constexpr std::uintptr_t far_gibibytes = 0x300000000000 >> 30;
constexpr int far_attempts = 8;

// Address spaces in which a far address is taken by a sanitizer's own tables, or would not be watched.
constexpr bool far_is_possible =
#if defined(__SANITIZE_THREAD__) || defined(ALLOT_NEAR_REGION)
    false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    false;
#else
    true;
#endif
#else
    true;
#endif

// One piece, or several, at their place in the window.
bool map_piece(std::uint64_t offset, std::uint64_t bytes) {
    std::uintptr_t address = the_region.base + offset;
    bool reserved = the_region.placed == region_view::placement::reserved;
    return reserved ? os_map_over(address, bytes) : os_map_free(address, bytes);
}

bool place_header(region_view::placement first) {
    if (far_is_possible && first == region_view::placement::far) {
        the_region.placed = region_view::placement::far;
        for (int attempt = 0; attempt < far_attempts; ++attempt) {
            the_region.base = far_start + (os_random() % far_gibibytes << 30);
            if (map_piece(0, piece_bytes)) return true;
        }
    }
    the_region.placed = region_view::placement::reserved;
    for (std::uint32_t shift = 0; shift <= window_shift_max; ++shift) {
        std::uint64_t bytes = window_bytes >> shift;
        std::uintptr_t start = os_reserve(bytes + piece_bytes);
        if (start == 0) continue;
        the_region.base = (start + piece_bytes - 1) & ~(piece_bytes - 1);
        the_region.window_shift = shift;
        if (map_piece(0, piece_bytes)) return true;
        os_unmap(start, bytes + piece_bytes);
        break;
    }
    the_region.placed = region_view::placement::none;
    return false;
}

void place_tables() {
    for (std::uint32_t t = 0; t < nr_tables; ++t)
        the_region.records[t] = the_region.base + table_start(table{t}, the_region.window_shift);
}

void write_header() {
    region_header &h = region();
    for (std::uint32_t t = 0; t < nr_tables; ++t) {
        table_header &of = h.tables[t];
        of.offset = table_start(table{t}, the_region.window_shift);
        of.record_bytes = record_bytes[t];
        of.capacity =
            static_cast<std::uint32_t>((table_end(table{t}, the_region.window_shift) - of.offset) / record_bytes[t]);
        of.count.store(1, std::memory_order_relaxed);
    }
}

} // namespace

namespace {

// The first piece of each table, so that what cannot be had is found out while another kind of region is possible.
bool reach_all_tables() {
    for (std::uint32_t t = 0; t < nr_tables; ++t)
        if (!region_reach(table{t}, 1)) return false;
    return true;
}

void unmap_all() {
    for (std::uint32_t t = 0; t < nr_tables; ++t) {
        if (the_region.mapped[t].exchange(0, std::memory_order_relaxed) != 0)
            os_unmap(the_region.records[t], piece_bytes);
    }
    os_unmap(the_region.base, piece_bytes);
    the_region.placed = region_view::placement::none;
}

} // namespace

bool region_create(region_view::placement first) {
    the_region.window_shift = 0;
    if (!place_header(first)) return false;
    place_tables();
    write_header();
    if (reach_all_tables()) return true;
    unmap_all();
    return false;
}

void region_forget() {
    for (std::uint32_t t = 0; t < nr_tables; ++t) {
        the_region.mapped[t].store(0, std::memory_order_relaxed);
        the_region.intended[t] = 0;
    }
    the_region.placed = region_view::placement::none;
    the_region.growth_lock.store(0, std::memory_order_relaxed);
}

namespace {

// What is mapped ends with a piece, the records in it perhaps before that.
std::uint64_t bytes_of_pieces(std::uint64_t records, std::uint32_t record_size) {
    return (records * record_size + piece_bytes - 1) / piece_bytes * piece_bytes;
}

} // namespace

void region_child_start() {
    the_region.growth_lock.store(0, std::memory_order_relaxed);
    for (std::uint32_t t = 0; t < nr_tables; ++t) {
        std::uint64_t end = bytes_of_pieces(the_region.mapped[t].load(std::memory_order_relaxed), record_bytes[t]);
        // A reservation has something there in any case, and is mapped over.
        if (the_region.intended[t] > end && the_region.placed == region_view::placement::far)
            os_unmap(the_region.records[t] + end, the_region.intended[t] - end);
        the_region.intended[t] = end;
    }
}

bool region_reach(table in, std::uint32_t index) {
    auto t = static_cast<std::uint32_t>(in);
    if (!region_is_mapped()) return false;
    const table_header &of = region().tables[t];
    if (index >= of.capacity) return false;
    lock_scope growing(the_region.growth_lock, lock_rank::growth);
    std::uint32_t have = the_region.mapped[t].load(std::memory_order_relaxed);
    if (index < have) return true;
    std::uint64_t mapped_bytes = bytes_of_pieces(have, of.record_bytes);
    std::uint64_t needed = bytes_of_pieces(std::uint64_t{index} + 1, of.record_bytes);
    the_region.intended[t] = needed;
    std::atomic_signal_fence(
        std::memory_order_seq_cst); // before the call; for the fork, the kernel's lock orders the two
    if (!map_piece(of.offset + mapped_bytes, needed - mapped_bytes)) {
        the_region.intended[t] = mapped_bytes;
        return false;
    }
    the_region.mapped[t].store(static_cast<std::uint32_t>(needed / of.record_bytes), std::memory_order_release);
    return true;
}

std::uint32_t record_take_fresh(table in) {
    table_header &of = region().tables[static_cast<std::uint32_t>(in)];
    std::uint32_t index = of.count.load(std::memory_order_relaxed);
    if (index >= the_region.mapped[static_cast<std::uint32_t>(in)].load(std::memory_order_acquire) &&
        !region_reach(in, index))
        return 0;
    // In a forked child, remains of what its parent was creating when the tables were copied.
    std::memset(reinterpret_cast<void *>(the_region.records[static_cast<std::uint32_t>(in)] +
                                         std::uint64_t{index} * of.record_bytes),
                0, of.record_bytes);
    of.count.store(index + 1, std::memory_order_release);
    return index;
}

} // namespace allot
