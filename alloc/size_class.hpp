// Size classes: which slot size serves a request.
//
// Steps of 16 bytes up to 128, then four classes a doubling up to 64 KiB, so at most a fifth of a slot is waste. Every
// slot size is a multiple of 16, and slabs are aligned to their size, so every slot is aligned to 16 bytes and to each
// power of two that divides its class.
// Invariants: class_bytes(class_of(n)) >= n and is the least class that is; both are pure.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {

inline constexpr std::size_t granule_bytes = 16;
inline constexpr std::size_t small_max_bytes = 1024;   // a table by granules finds the class
inline constexpr std::size_t medium_max_bytes = 65536; // another table; above: whole units

inline constexpr unsigned nr_linear_classes = 8; // 16, 32 … 128
inline constexpr unsigned nr_classes = nr_linear_classes + 4 * 9;

constexpr unsigned class_of(std::size_t bytes) { // bytes <= medium_max_bytes
    if (bytes <= 128) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) >> 4);
    unsigned doubling = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1; // 2^doubling < bytes <= 2^(doubling+1)
    unsigned quarter = static_cast<unsigned>((bytes - 1) >> (doubling - 2)) & 3;
    return nr_linear_classes + (doubling - 7) * 4 + quarter;
}

constexpr std::size_t class_bytes(unsigned size_class) {
    if (size_class < nr_linear_classes) return (size_class + 1) * granule_bytes;
    unsigned doubling = 7 + (size_class - nr_linear_classes) / 4;
    unsigned quarter = (size_class - nr_linear_classes) % 4;
    return (std::size_t{1} << doubling) + (quarter + 1) * (std::size_t{1} << (doubling - 2));
}
static_assert(class_bytes(nr_classes - 1) == medium_max_bytes);

inline constexpr unsigned nr_small_classes = class_of(small_max_bytes) + 1;

// Two loads instead of the computation: every class up to small_max_bytes is whole granules, every one above whole steps.
inline constexpr std::size_t medium_step_bytes = small_max_bytes / 4;
struct class_table {
    std::uint8_t of_granules[small_max_bytes / granule_bytes + 1];
    std::uint8_t of_steps[medium_max_bytes / medium_step_bytes + 1];
};
constexpr class_table make_class_table() {
    class_table table{};
    for (std::size_t i = 0; i < sizeof table.of_granules; ++i)
        table.of_granules[i] = static_cast<std::uint8_t>(class_of(i * granule_bytes));
    for (std::size_t i = 0; i < sizeof table.of_steps; ++i)
        table.of_steps[i] = static_cast<std::uint8_t>(class_of(i * medium_step_bytes));
    return table;
}
// bytes <= small_max_bytes
[[gnu::always_inline]] constexpr std::size_t small_class(const class_table &table, std::size_t bytes) {
    return table.of_granules[(bytes + granule_bytes - 1) / granule_bytes];
}
// small_max_bytes < bytes <= medium_max_bytes
[[gnu::always_inline]] constexpr std::size_t medium_class(const class_table &table, std::size_t bytes) {
    return table.of_steps[(bytes + medium_step_bytes - 1) / medium_step_bytes];
}

// bytes <= medium_max_bytes
[[gnu::always_inline]] constexpr std::size_t class_in(const class_table &table, std::size_t bytes) {
    return bytes <= small_max_bytes ? small_class(table, bytes) : medium_class(table, bytes);
}

// The least size, of at least `bytes`, whose class has slots that are all aligned to `alignment`, a power of two. Multiples
// of it are classes up to the fourth, and above it a class is a multiple of a quarter of a power of two that is one.
constexpr std::size_t aligned_bytes(std::size_t bytes, std::size_t alignment) {
    return bytes == 0 ? alignment : (bytes + alignment - 1) & ~(alignment - 1);
}
// nr_classes if there is none.
constexpr unsigned aligned_class_of(std::size_t bytes, std::size_t alignment) {
    std::size_t size = aligned_bytes(bytes, alignment);
    return size <= medium_max_bytes ? class_of(size) : nr_classes;
}

} // namespace allot
