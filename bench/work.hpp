// Work that is nobody else's: always the same instructions, and as long as asked for.
//
// It exists so that a message's work is a time to who measures, and a number of instructions to who counts.
//
// Threads: any. Owner: nobody. Invariants: a round is five instructions, each round depends on the one before.
// Cost: calibrating takes some tens of milliseconds.
#pragma once

#include <cstdint>

namespace allot::bench {

inline std::uint64_t private_work(std::uint64_t seed, std::uint64_t rounds) {
    std::uint64_t x = seed | 1;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        x = x * 0x2545f4914f6cdd1dull + i;
        __asm__ volatile("" : "+r"(x)); // neither unrolled nor left out
    }
    return x;
}

// How many rounds last that long, on this CPU, now: the fastest of several tries, since a disturbed one only lasts longer.
[[nodiscard]] std::uint64_t rounds_lasting(double nanoseconds);

// Where instructions are counted and nobody says otherwise: about 10,000 of them, 3.8 us at one a cycle of 2.6 GHz, which
// is what a kernel's network path may come to.
inline constexpr std::uint64_t counted_work_rounds = 2000;

} // namespace allot::bench
