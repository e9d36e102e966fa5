// Changes both halves of a `wide` at once.
//
// It exists so that a figure and the number of the operation that changed it are never seen apart by who changes them.
//
// Threads: any of any attached process.
// Owner: who the field's comment names.
// Invariants: none of its own.
// Cost: one locked instruction of 16 bytes.
#pragma once

#include "accounting/shared/layout.hpp"

#include <cstdint>

#if !defined(__SIZEOF_INT128__)
#error "figures of 128 bits are changed by one compare-and-swap"
#endif

namespace allot::shared {

__extension__ using both_halves = unsigned __int128;

constexpr both_halves halves_of(std::uint64_t value, std::uint64_t stamp) {
    return static_cast<both_halves>(stamp) << 64 | value;
}

// seq_cst, as the builtin is.
inline bool change_both(wide &w, std::uint64_t value, std::uint64_t stamp, std::uint64_t to_value,
                        std::uint64_t to_stamp) {
    return __sync_bool_compare_and_swap(reinterpret_cast<both_halves *>(&w), halves_of(value, stamp),
                                        halves_of(to_value, to_stamp));
}

// Both halves of one moment, where each change changes the stamp to one that was not there before.
inline std::uint64_t read_both(const wide &w, std::uint64_t &stamp) {
    std::uint64_t value;
    do {
        stamp = w.stamp.load(std::memory_order_acquire);
        value = w.value.load(std::memory_order_acquire);
    } while (w.stamp.load(std::memory_order_relaxed) != stamp);
    return value;
}

} // namespace allot::shared
