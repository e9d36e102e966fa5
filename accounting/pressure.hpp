// Pressure: how much of the time threads of a tenant stand still for want of memory, as the kernel's memory.pressure says.
//
// It exists so that a stall can be seen while it lasts and after it, in the format that tools know: `some`, the share of
// time in which at least one thread stalls, and `full`, in which all do, averaged over 10, 60 and 300 seconds, and in all.
// What counts as a stall: shrinkers that run because a charge did not fit or went over memory.high, the delays of
// memory.throttle, and waiting for others in a drain, if it takes long enough to be noticed.
//
// Threads: any, at once, without a lock: a process that is stopped in here holds up nobody.
// Owner: the tenant, in its tenant_extra.
// Invariants: 1. Each moment between two changes of the number of stalled threads is counted by one thread: the one whose
//                compare-and-swap ended it.
//             2. Averages move in periods of 2 seconds, as the kernel's do, whoever comes after a period's end moving them;
//                what happens between two changes is constant, so nothing is lost when nobody comes for hours.
// Cost: a compare-and-swap and a few additions at the begin and the end of a stall; nothing otherwise.
//
// `full` needs to know how many threads there are: the contexts that are open in the subtree stand for them. A thread that
// works for two tenants of the subtree counts twice, one that has ended and left a context behind counts still, so `full`
// is at most too small.
#pragma once

#include "accounting/file_text.hpp"

#include <atomic>
#include <cstdint>

namespace allot {

inline constexpr std::uint64_t pressure_period_us = 2'000'000;
inline constexpr std::uint32_t nr_pressure_averages = 3;
inline constexpr std::uint32_t pressure_seconds[nr_pressure_averages] = {10, 60, 300};
// Averages are shares of this.
inline constexpr std::uint32_t pressure_one = std::uint32_t{1} << 30;

// One line of the file. Times in microseconds.
struct pressure_line {
    std::atomic<std::uint64_t> total; // added by whoever ends a stretch; relaxed: a figure
    // The period up to which averages are made. Exchanged by whoever makes them up to now, which is a claim: nobody else
    // makes them for these periods. relaxed: the claim is the exchange itself.
    std::atomic<std::uint64_t> period;
    // Below: written by who has the claim, read by anyone; relaxed: figures. One who is stopped with a claim for more than
    // a period may spoil an average, for as long as averages last.
    std::atomic<std::uint64_t> total_at_period;
    std::atomic<std::uint32_t> average[nr_pressure_averages];
    std::uint32_t unused;
};

struct pressure {
    // Stalled threads: 15 bits; whether these are all: 1; since when: 48, microseconds. Exchanged by whoever changes the
    // number, and by readers; acquire and release: who ends a stretch comes after who began it.
    std::atomic<std::uint64_t> word;
    pressure_line some, full;
};
static_assert(sizeof(pressure) == 88);

// `now` is monotonic, the same clock for all. nr_threads: how many there are now.
void pressure_begin(pressure &, std::uint64_t now_us, std::uint32_t nr_threads);
void pressure_end(pressure &, std::uint64_t now_us, std::uint32_t nr_threads);
// A stall that ends now and that nobody knew would be one: what of it lies after the last change counts.
void pressure_past(pressure &, std::uint64_t now_us, std::uint64_t stalled_us, std::uint32_t nr_threads);
// Averages and totals up to now.
void pressure_bring_up_to(pressure &, std::uint64_t now_us);
[[nodiscard]] std::uint32_t pressure_stalled(const pressure &); // threads, now

// The text of the file, of what is there; bring it up to now first.
void pressure_write(const pressure &, file_text &out);

} // namespace allot
