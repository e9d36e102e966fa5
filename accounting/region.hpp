// The region: the tables of tenants, handles and contexts, in one mapping that names everything by index.
//
// It exists so that records are found by 32-bit indices, which others keep for as long as they like, and so that a forked child
// can make its copy of all of them its own. What processes share lies in a file beside it (shared/layout.hpp).
//
//   window (4 GiB of addresses at most, never reserved where a far address can be had)
//   |header|extras|tenants      |obj_cgroups                     |contexts                                   |
//    64 KiB pieces are mapped from the start of each table as it grows
//
// Threads: record_of() from any thread; record_new() and record_put() under the registry lock.
// Owner: this process owns its mapping, for its whole life; addresses of records never change, across fork either.
// Invariants: 1. Index 0 names nothing. An index below the count of its table names a record that was initialised once.
//             2. Indices are reused in the order they were freed: a stale one meets its successor as late as can be.
// Cost: record_of() is a comparison, a multiplication and an addition; growth is two system calls for 64 KiB.
#pragma once

#include "accounting/base/cache_line.hpp"
#include "accounting/base/check.hpp"
#include "accounting/base/mutex.hpp"
#include "accounting/base/units.hpp"
#include "accounting/uncounted.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot {

enum class table : std::uint32_t { tenants, obj_cgroups, contexts, tenant_extras };
inline constexpr std::uint32_t nr_tables = 4;

inline constexpr std::uint64_t piece_bytes = 64 * 1024;
inline constexpr std::uint64_t window_bytes = std::uint64_t{4} << 30;
// Where addresses are scarce the window is halved up to this often, and every table with it: down to 16 MiB.
inline constexpr std::uint32_t window_shift_max = 8;

struct table_header {
    std::uint64_t offset;       // in the window
    std::uint32_t record_bytes; // the distance of two records
    std::uint32_t capacity;     // indices are below this
    // Indices below this have been used. Written under the registry lock; read by anyone, acquire: the records below it
    // are initialised.
    std::atomic<std::uint32_t> count;
    std::uint32_t free_head, free_tail; // freed indices, first in first out; under the registry lock
    std::uint32_t unused;
};

struct alignas(cache_line_bytes) lock_line {
    lock_word word;
};

inline constexpr std::uint32_t nr_direct_locks = 16;
inline constexpr std::uint32_t nr_name_buckets = 8192;

struct region_header {
    // The process's own, its nearest living ancestor once it is destroyed. Written under the registry lock, release, before
    // that tenant's record is free; read by anyone, acquire; see tenant_default.
    std::atomic<std::uint32_t> default_tenant;
    table_header tables[nr_tables];

    uncounted_bytes uncounted; // see uncounted()
    lock_line drain_lock, registry_lock;
    lock_line direct_locks[nr_direct_locks]; // by tenant index: charges without context
    // What should not have happened and was put right: uncharges of more than was charged, and the like. relaxed.
    alignas(cache_line_bytes) std::atomic<std::uint64_t> anomalies;
    // Signal handlers gave bytes back while they could not wait for a lock (see uncharge_bytes): a hint that some handle has
    // a deferred sum. Written by handlers, release; taken by drains, acquire: who takes the hint sees what it hints at.
    std::atomic<std::uint32_t> nr_deferred;
    // Signal handlers freed amid slow paths: contexts that are said to hold nothing may hold something. As above.
    std::atomic<std::uint32_t> handlers_left;
    // Index of the tenant below which a drain goes on, 0: none. Written by who holds the drain lock; read by who is about
    // to hold stock. seq_cst: see context_begin_holding.
    alignas(cache_line_bytes) std::atomic<std::uint32_t> draining;

    // Tenants by the hash of parent and name; heads of chains through tenant::hash_next. Under the registry lock.
    alignas(cache_line_bytes) std::uint32_t name_buckets[nr_name_buckets];
};
static_assert(sizeof(region_header) <= piece_bytes, "the header is one piece");

// Where tables lie, in sixteenths of the window, in the order of the enum: tenants 2, obj_cgroups 4, contexts 8, tenant_extras 2,
// after the header.
struct table_place {
    std::uint32_t start, end;
};
inline constexpr table_place table_places[nr_tables] = {{2, 4}, {4, 8}, {8, 16}, {0, 2}};

constexpr std::uint64_t table_start(table t, std::uint32_t window_shift) {
    if (t == table::tenant_extras) return piece_bytes;
    return (window_bytes >> window_shift) / 16 * table_places[static_cast<std::uint32_t>(t)].start;
}
constexpr std::uint64_t table_end(table t, std::uint32_t window_shift) {
    return (window_bytes >> window_shift) / 16 * table_places[static_cast<std::uint32_t>(t)].end;
}

// This process's view of its region. Written at start and, for `mapped`, under growth_lock; read by every thread.
struct region_view {
    std::uintptr_t base;
    std::uintptr_t records[nr_tables];
    // Records of each table that may be touched: the pieces behind them are mapped. release by whoever maps, acquire by
    // readers, who touch what was mapped.
    std::atomic<std::uint32_t> mapped[nr_tables];
    // Where each table's mapping ends once a growth that has begun is done, in bytes from the table's start. Written under
    // growth_lock before the system call; read by a forked child, which may have inherited pieces that `mapped` lacks.
    std::uint64_t intended[nr_tables];
    std::uint32_t window_shift;
    enum class placement : std::uint32_t { none, far, reserved } placed;
    lock_word growth_lock;
};
extern constinit region_view the_region;

inline region_header &region() { return *reinterpret_cast<region_header *>(the_region.base); }
inline bool region_is_mapped() { return the_region.placed != region_view::placement::none; }

// Maps an empty region. False: nothing changed. `first` is the placement that is tried first.
[[nodiscard]] bool region_create(region_view::placement first = region_view::placement::far);

// In the only thread of the child of a fork, whose parent was amid region_create.
void region_forget();

// The same, with a region: a growth that another thread of the parent had begun is undone.
void region_child_start();

// Makes index touchable; false: beyond the table, or the memory cannot be had.
[[nodiscard]] bool region_reach(table t, std::uint32_t index);

// Under the registry lock; `link` tells where a freed record keeps the index of the next.
[[nodiscard]] std::uint32_t record_take_fresh(table t); // 0: full

// The record of an index, nullptr for 0 and for what cannot be. T has `static constexpr table in`.
template<class T>
T *record_of(std::uint32_t index) {
    constexpr auto t = static_cast<std::uint32_t>(T::in);
    if (index >= the_region.mapped[t].load(std::memory_order_acquire)) [[unlikely]]
        if (!region_reach(T::in, index)) return nullptr;
    return index == 0 ? nullptr : reinterpret_cast<T *>(the_region.records[t] + std::uint64_t{index} * sizeof(T));
}

// The record of an index that is known to name one.
template<class T>
T &record_at(std::uint32_t index) {
    T *record = record_of<T>(index);
    ALLOT_CHECK(record != nullptr, "an index names a record of the region");
    return *record;
}

// Where a freed record keeps the index of the next one; an overload beside a record that has it elsewhere.
template<class T>
std::uint32_t &free_next_of(T &record) {
    return record.free_next;
}

// An index of a record that is free for use, or 0. Contents are those it was freed with, or zero. Registry lock.
template<class T>
std::uint32_t record_new() {
    table_header &t = region().tables[static_cast<std::uint32_t>(T::in)];
    if (t.free_head == 0) return record_take_fresh(T::in);
    std::uint32_t index = t.free_head;
    T *record = record_of<T>(index);
    if (record == nullptr) return 0;
    t.free_head = free_next_of(*record);
    if (t.free_head == 0) t.free_tail = 0;
    return index;
}

template<class T>
void record_put(std::uint32_t index) {
    table_header &t = region().tables[static_cast<std::uint32_t>(T::in)];
    free_next_of(record_at<T>(index)) = 0;
    if (t.free_tail != 0)
        free_next_of(record_at<T>(t.free_tail)) = index;
    else
        t.free_head = index;
    t.free_tail = index;
}

// Lists of records, each of which has two links. links_of(record) stands beside T; what protects a list is said there.
struct record_links {
    std::uint32_t &next, &previous; // 0: none
};
template<class T>
void list_put(std::uint32_t &first, T &record, std::uint32_t index) { // at the front
    record_links links = links_of(record);
    links.previous = 0;
    links.next = first;
    if (T *after = record_of<T>(first)) links_of(*after).previous = index;
    first = index;
}
template<class T>
void list_remove(std::uint32_t &first, T &record) {
    record_links links = links_of(record);
    if (T *after = record_of<T>(links.next)) links_of(*after).previous = links.previous;
    if (T *before = record_of<T>(links.previous))
        links_of(*before).next = links.next;
    else
        first = links.next;
}

template<class T>
std::uint32_t record_count() {
    return region().tables[static_cast<std::uint32_t>(T::in)].count.load(std::memory_order_acquire);
}

inline void count_anomaly() { region().anomalies.fetch_add(1, std::memory_order_relaxed); }

} // namespace allot
