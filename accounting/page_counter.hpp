// page_counter: one level of the tree: what is used, what is allowed, what is protected. In bytes.
//
// It replaces the kernel's page_counter. Two things differ: a charge is a compare-and-swap that happens only if it fits,
// where the kernel adds, looks and takes back, because an addition in flight would refuse others falsely; and the peak is
// raised only once the whole charge has succeeded, where the kernel leaves the peaks of a refused charge raised.
//
// Threads: any. A charge and its uncharge need not be of one thread.
// Owner: the tenant record it is part of.
// Invariants: 1. 0 <= usage <= max, unless max was lowered below usage, when only uncharges change it.
//             2. Once nobody is inside a call: min_usage = min(usage, min), low_usage likewise, and the parent's
//                children_min_usage is the sum of its children's min_usage.
// Cost: a charge is one locked instruction on one line; limits are read from a line that is seldom written; the
//   protection line is read, and written only when a protected amount changes.
#pragma once

#include "accounting/base/cache_line.hpp"
#include "accounting/base/units.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot {

struct page_counter {
    // usage << 16 | generation. Written by every charger and uncharger, by compare-and-swap that keeps the generation,
    // which a recount will change so that a charger that was stopped meanwhile starts again. Read relaxed: what decides is
    // ordered by the locks around it (see drain.cpp); the number itself is consistent by being one word. Changed seq_cst:
    // see propagate().
    alignas(cache_line_bytes) std::atomic<std::int64_t> word;
    // Highest usage after a charge that succeeded. Beside usage because exactly those who write usage look at it.
    // relaxed: a statistic.
    std::atomic<std::uint64_t> peak;

    // Written by who sets limits; read by every charger. relaxed: a charge that races with a new limit is ordered before
    // it, and the next one sees it; who sets max waits for those that race. min and low seq_cst: see propagate().
    alignas(cache_line_bytes) std::atomic<std::uint64_t> min;
    std::atomic<std::uint64_t> low, high, max;
    // Contexts of this level and below: among how many what is left must be shared. Written under the registry lock;
    // relaxed: a hint.
    std::atomic<std::uint32_t> nr_contexts;
    // Those of them that hold stock, or may: where it is 0, a drain finds nothing. Written under the contexts' locks, when
    // one begins or ceases to hold; read by drains. seq_cst: see context_begin_holding.
    std::atomic<std::uint32_t> nr_holding;
    std::uint32_t parent; // tenant index, 0 at the root; written when the tenant is created
    std::uint32_t depth;  // 0 at the root
    // Where processes share the tree: the level's node, and this process's account there, 0 as long as it has none. Then the
    // node has usage, peak and limits. Under the registry lock; the account, once opened, is read without it.
    std::uint32_t node;
    std::uint32_t account;

    // The protected part of usage as last told the parent, and what the children told. seq_cst: see propagate().
    alignas(cache_line_bytes) std::atomic<std::uint64_t> min_usage;
    std::atomic<std::uint64_t> low_usage, children_min_usage, children_low_usage;
};
static_assert(sizeof(page_counter) == 3 * cache_line_bytes);
static_assert(offsetof(page_counter, min) == cache_line_bytes, "limits are not on the line that every charge writes");
static_assert(offsetof(page_counter, min_usage) == 2 * cache_line_bytes);

inline constexpr std::uint32_t usage_shift = 16;
inline constexpr std::int64_t usage_max = (std::int64_t{1} << 47) - 1;

constexpr std::uint64_t usage_of(std::int64_t word) {
    std::int64_t bytes = word >> usage_shift;
    return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}
inline std::uint64_t usage(const page_counter &c) { return usage_of(c.word.load(std::memory_order_relaxed)); }

// The usage it led to, or charge_refused and nothing happened.
inline constexpr std::uint64_t charge_refused = ~std::uint64_t{0};
// `beyond`: how far beyond max it may go.
[[nodiscard]] std::uint64_t page_counter_try_charge(page_counter &c, std::uint64_t bytes, std::uint64_t beyond = 0);
// Whatever the limit; the usage it led to. Only what a word can count bounds it.
[[nodiscard]] std::uint64_t page_counter_charge(page_counter &c, std::uint64_t bytes);
// Never below zero: what would be is left at zero, and the part that was missing is returned.
[[nodiscard]] std::uint64_t page_counter_uncharge(page_counter &c, std::uint64_t bytes);
void page_counter_raise_peak(page_counter &c, std::uint64_t usage);
// After a change of usage, min or low: tells the parent how much of it is protected, if that has changed.
void page_counter_propagate(page_counter &c, page_counter *parent);

// After a change of usage: whether there may be something to propagate.
inline bool has_protection(const page_counter &c) {
    return (c.min.load(std::memory_order_seq_cst) | c.low.load(std::memory_order_seq_cst) |
            c.min_usage.load(std::memory_order_seq_cst) | c.low_usage.load(std::memory_order_seq_cst)) != 0;
}

} // namespace allot
