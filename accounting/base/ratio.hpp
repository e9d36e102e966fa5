// A product divided, in 128 bits between: shares of bytes by bytes would overflow 64.
//
// Threads: a pure function. Owner: nobody. Cost: a multiplication and a division.
// Invariants: 1. Rounded down; a quotient that does not fit is cut to the largest number.
#pragma once

#include <cstdint>

namespace allot {

// value * numerator / denominator; the denominator is not 0.
constexpr std::uint64_t ratio_floor(std::uint64_t value, std::uint64_t numerator, std::uint64_t denominator) {
    __extension__ using wide = unsigned __int128;
    wide quotient = static_cast<wide>(value) * numerator / denominator;
    constexpr std::uint64_t largest = ~std::uint64_t{0};
    return quotient > largest ? largest : static_cast<std::uint64_t>(quotient);
}

} // namespace allot
