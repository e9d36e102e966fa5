// The table of contexts: opening, closing, parking, and what a slow path does to one context under its lock.
//
// It exists so that the fast path (context.hpp) stays one screen, and so that the two words that steer it, hi and lo, are
// written in one place.
//
// Threads: "owner" is the thread that opened the context, or took it over after it was parked. A drainer is any other
//   thread that holds the context's lock.
// Owner: the region. A context is in the list of the tenant that its handle names.
// Invariants: 1. A context is sealed (every operation takes the slow path) or its hi and lo follow from stock.
//             2. Whoever unseals is the owner. A drainer seals, and leaves sealed: it is the owner's next operation that
//                decides how much may be held again.
//             3. Outside the lock, a context that is not counted as holding is sealed, and nothing of its stock is unused,
//                but for what handlers have freed (region_header::handlers_left).
//             4. Charged through a context = stock + late + settled bytes; settled + bytes(net) of it are live.
// Cost: see charge.hpp.
#pragma once

#include "accounting/base/mutex.hpp"
#include "accounting/context.hpp"
#include "accounting/refusal.hpp"
#include "accounting/region.hpp"
#include "accounting/shared/file.hpp"

#include <atomic>
#include <cstdint>
#include <limits>

namespace allot {

struct tenant;

struct context_cold {
    // Bytes charged for this context by signal handlers that interrupted its slow path. Added by handlers, taken by who
    // holds the lock. release and acquire: who sees the bytes sees the addition to net that they were charged for.
    std::atomic<std::int64_t> late;
    // What has been folded out of net, in all: the live bytes and objects are these plus net. Written under the lock;
    // read by anyone, relaxed: figures.
    std::atomic<std::int64_t> settled_bytes;
    std::atomic<std::int64_t> settled_objects;
    std::uint32_t next, previous; // contexts of one tenant; registry lock, and drain lock or this context's
    std::uint32_t free_next;
    std::uint32_t thread; // thread id of the owner, 0 while parked; for reports
    std::uint32_t epoch;  // counts the holders of the lock that changed hi
    // What the owner's last refused charge left to settle. Written and read by the owner alone.
    refusal refused;
};

struct context_record {
    static constexpr table in = table::contexts;
    context hot;
    context_cold cold;
};
inline std::uint32_t &free_next_of(context_record &r) { return r.cold.free_next; }
inline record_links links_of(context_record &r) { return {r.cold.next, r.cold.previous}; }
static_assert(sizeof(context_record) == 2 * cache_line_bytes);

inline context_cold &cold_of(context &c) { return reinterpret_cast<context_record &>(c).cold; }
inline const context_cold &cold_of(const context &c) { return reinterpret_cast<const context_record &>(c).cold; }

// Bits of context::flags.
inline constexpr std::uint32_t context_sealed = 1; // under the lock
// A drainer has sealed it and no membarrier came since: what its net reads may be old. Under the lock.
inline constexpr std::uint32_t context_unordered = 2;
inline constexpr std::uint32_t context_in_use = 4; // registry lock
// Counted in nr_holding of its tenant and the ancestors.
inline constexpr std::uint32_t context_holding = 8;
inline bool has_flag(const context &c, std::uint32_t flag) {
    return (c.flags.load(std::memory_order_relaxed) & flag) != 0;
}
// By who holds the lock: a plain change, no locked instruction.
inline void set_flag(context &c, std::uint32_t flag) {
    c.flags.store(c.flags.load(std::memory_order_relaxed) | flag, std::memory_order_relaxed);
}
inline void clear_flag(context &c, std::uint32_t flag) {
    c.flags.store(c.flags.load(std::memory_order_relaxed) & ~flag, std::memory_order_relaxed);
}

// --- hi and lo ------------------------------------------------------------------------------------------------------
// Sizes are multiples of 16 and |objects| < 2^31, so 8 bytes on either side of a limit separate what is within from what
// is not, whatever the object count, and leave the lower half of hi free for the epoch.
inline constexpr std::int64_t size_grain = 16;
inline constexpr net_word sealed_hi = std::numeric_limits<net_word>::min();
inline constexpr net_word sealed_lo = std::numeric_limits<net_word>::max();
constexpr net_word hi_of(std::int64_t stock, std::uint32_t epoch) {
    return static_cast<net_word>((static_cast<std::uint64_t>(stock + size_grain / 2) << 32) | epoch);
}
constexpr net_word lo_of(std::int64_t least_bytes) {
    return static_cast<net_word>(static_cast<std::uint64_t>(least_bytes - size_grain / 2) << 32);
}

// --- under the context's lock ----------------------------------------------------------------------------------------
void context_seal(context &c);
// Owner: seals, and moves net and late into the books. Afterwards stock alone says what is unused, or, negative, missing.
void context_take_over(context &c);
// Owner: all that is not in use goes back to t, its tenant. Sealed afterwards.
void context_give_back(context &c, tenant &t);
// Owner: opens hi and lo for that much unused; 0 leaves it sealed.
void context_unseal(context &c, std::uint64_t most_unused);
// Any holder of the lock, of a context whose stock is taken: it begins with two batches again.
inline void context_forget_swing(context &c) { c.swing = c.returned = 0; }
// Owner, before it charges ahead or keeps what is unused: how much of `batch` it may. It is counted as holding before it
// looks whether a drain goes on above it, and a drain says that it does before it looks who is counted, seq_cst both: so
// the drain visits it, or it holds nothing.
[[nodiscard]] std::uint64_t context_begin_holding(context &c, tenant &t, std::uint64_t batch);
// Any holder of the lock, before giving it back: counts c as holding if it does, and only then.
void context_settle_holding(context &c, tenant &t);
// Where processes share the tree, drains of others take from a context without writing to it: what they took and the owner has
// not subtracted yet (shared/remote.hpp). Any holder of the lock.
[[nodiscard]] inline std::int64_t taken_by_others(const context &c) {
    if (!shared::is_attached()) [[likely]]
        return 0;
    const shared::taking &t = shared::taking_at(c.index);
    return static_cast<std::int64_t>(t.taken.value.load(std::memory_order_acquire) -
                                     t.seen.load(std::memory_order_relaxed));
}
// Any holder of the lock, sealed and after a membarrier: what is charged and not used.
[[nodiscard]] std::int64_t context_unused(const context &c);
// Without the lock: exact when quiet.
[[nodiscard]] std::uint64_t context_unused_estimate(const context &c);

// --- registry lock -----------------------------------------------------------------------------------------------------
// Moves all contexts of t to the list of its parent. With the locks of obj_cgroup.hpp, invariant 2.
void contexts_reparent(tenant &t, tenant &parent);
// In the only thread of a forked child: those there are are the parent's.
void contexts_child_start();

} // namespace allot
