// The harness of the benchmarks: options, calibration, timing and the one line of output.
//
// It exists so that a benchmark's file holds its loop and nothing else, and so that every allocator is measured by the
// same rules. A benchmark calls plain malloc and free; which allocator answers is decided by LD_PRELOAD, and the line
// names the library that did, so that a preload that was silently ignored cannot pass for a measurement.
//
// Threads: everything here is called by the main thread. Owner: nobody; a benchmark is one call of run().
// Invariants:
//   1. Nothing is allocated, printed or read from the system between the two clock readings of a slice.
//   2. With --iterations the loop runs exactly so many rounds, once, and no clock decides anything: two runs differ by
//      their rounds alone, which is what a difference of instruction counts needs.
// Cost: two clock readings a slice; a slice lasts at least 1/32 of the time asked for (1/8 by wall time).
//
// Output: `pair/64 5.32 ns best 5.21 peak_rss 3612672 malloc libjemalloc.so.2`, the first figure the median of the
// slices; with finish() also `left_rss 3100672`, the resident bytes 1.5 s after everything has been freed, in which the
// program has done little: what an allocator gives back by itself. Exit status 0, or 2 with one line on stderr if the arguments are wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace allot::bench {

// Which clock a benchmark is judged by. CPU time of the process where one thread works: it does not count what other
// programs take from a shared machine, and it does count helper threads of an allocator. Wall time where several threads
// work together, since waiting for each other is part of what they cost.
enum class clock_kind { cpu, wall };

// Which CPU a benchmark's main thread is held on.
enum class pinning { one_cpu, none };

struct benchmark {
    std::string name;                   // pair/64
    std::uint64_t operations_per_round; // what a round is divided by
    std::function<void(std::uint64_t rounds)> run;
    clock_kind clock = clock_kind::cpu;
    pinning pin = pinning::one_cpu;
    // Rounds of the shortest slice. Above one where a slice has a cost of its own, as waking threads has.
    std::uint64_t least_rounds = 1;
    // Frees everything that the rounds left alive. Where there is one, the line ends with what stays in memory afterwards.
    std::function<void()> finish = {};
};

// The arguments that are not options, in order: `batch 64 2` has {"64", "2"}.
using arguments = std::vector<std::string>;

// Builds the benchmark from its arguments; calls fail() for wrong ones.
using factory = benchmark (*)(const arguments &);

// The whole of main(). usage names the arguments, as in "SIZE ORDER"; defaults stand in for those that are missing.
int run(int argc, char **argv, const char *usage, const arguments &defaults, factory);

// A line on stderr that names what was wrong and what is expected; exit 2.
[[noreturn]] void fail(const std::string &what);

// A tracer (bench/step) stops here; without one the program dies, as anybody who gave --traps by mistake should learn.
void trap();

// A number of 1 and more, with K, M or G as powers of 1024; fail() if it is not one.
std::uint64_t number(const std::string &text);

// The name of a row: join("pair", {"64"}) is pair/64.
std::string join(const char *benchmark, const arguments &);

// Remembers the CPUs that the process was given; before the first thread is pinned. run() does it.
void keep_given_cpus();

// Holds the calling thread on the nth CPU (round robin) of those the process was given. Refusal is ignored: where
// a container forbids it the figures are noisier and still right.
void pin_to_nth_cpu(unsigned nth);

// A generator of its own, so that every run of every allocator sees the same sequence (xorshift64*, Marsaglia and Vigna).
class random_sequence {
public:
    explicit random_sequence(std::uint64_t seed) : state_{seed * 2 + 1} {}
    std::uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1dull;
    }
    // Uniform in [0, limit) for limits far below 2^32, which all of ours are.
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(((next() >> 32) * limit) >> 32); }

private:
    std::uint64_t state_;
};

// 17 to 1024 bytes, as many small as large ones on a logarithmic scale.
inline std::uint16_t mixed_size(random_sequence &random) {
    const std::uint32_t octave = 16u << random.below(6);
    return static_cast<std::uint16_t>(octave + random.below(octave) + 1);
}

// Writes the first byte: every benchmark uses what it was given at least that much, and the compiler cannot drop a pair
// whose memory is written through a volatile pointer.
inline void touch(void *p) { *static_cast<volatile char *>(p) = 1; }

// Writes one byte in every page of [p + from, p + to).
inline void touch_pages(void *p, std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; at += 4096) static_cast<volatile char *>(p)[at] = 1;
}

} // namespace allot::bench
