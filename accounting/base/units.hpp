// Units: the words in which sizes and net charges are given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

// A page is always 4096 bytes here, whatever the system's own page is: charges move in this unit.
inline constexpr std::uint64_t page_bytes = 4096;

// Bytes charged ahead in one go for one context, at most. 64 pages, as Linux since 6.1 (1813e51eece0).
inline constexpr std::uint64_t charge_batch_pages = 64;
inline constexpr std::uint64_t charge_batch_bytes = charge_batch_pages * page_bytes;

// What one context may leave unused beyond two batches, where its traffic swings so far, at most; and what all contexts of a
// process may together. None of it is memory: it is what drains find.
inline constexpr std::uint64_t swing_bytes_max = std::uint64_t{16} << 20;
inline constexpr std::uint64_t swings_together_bytes = std::uint64_t{256} << 20;

// A usage without limit. Kept far from the end of the range so that sums of a few of them do not wrap.
inline constexpr std::uint64_t unlimited = std::uint64_t{1} << 62;

// Net charge, packed: bytes in the upper 32 bits, objects in the lower 32, both signed; the value is
// bytes * 2^32 + objects, so one addition moves both and a borrow of the lower half is undone by decoding.
using net_word = std::int64_t;

constexpr net_word net_of(std::int64_t bytes, std::int32_t objects) {
    return static_cast<net_word>((static_cast<std::uint64_t>(bytes) << 32) +
                                 static_cast<std::uint64_t>(std::int64_t{objects}));
}
constexpr std::int32_t net_objects(net_word n) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(n)); }
constexpr std::int64_t net_bytes(net_word n) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(n) -
                                     static_cast<std::uint64_t>(std::int64_t{net_objects(n)})) >>
           32;
}
static_assert(net_bytes(net_of(64, -3)) == 64 && net_objects(net_of(64, -3)) == -3);
static_assert(net_bytes(net_of(-64, 3)) == -64 && net_objects(net_of(-64, 3)) == 3);

// Objects of this size and more, and external bytes, are charged directly to the tree and never enter a net word, so
// that its byte half cannot overflow between two slow paths.
inline constexpr std::uint64_t direct_charge_bytes = std::uint64_t{1} << 20;

} // namespace allot
