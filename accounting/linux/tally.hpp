// What one CPU's part of an engine did: counts that do not depend on the machine.
//
// They exist because the experiments' times need machines of 72 and 96 CPUs, and these figures need none. The counting rule:
// a read-modify-write counts if its line is written by several CPUs: usage and protection of page counters; the bytes
// that an obj_cgroup keeps for all CPUs; and a stock's taking and putting of its reference to an obj_cgroup, which the
// kernel counts by CPU while the cgroup lives and in one place afterwards. Statistics are kept by CPU: what counts there is
// how many updates leave the stock.
//
// Threads: of the CPU that it belongs to. Owner: the engine's CPU. Invariants: counts only grow. Cost: an addition each.
#pragma once

#include <cstdint>

namespace allot::memcg {

struct tally {
    // Read-modify-writes of shared lines.
    std::uint64_t usage = 0;        // page counters of memory
    std::uint64_t kernel_usage = 0; // v1's second counters
    std::uint64_t protection = 0;   // min_usage, low_usage and the parents' sums
    std::uint64_t spare_bytes = 0;  // what an obj_cgroup keeps for all CPUs
    std::uint64_t references = 0;   // of stocks to an obj_cgroup
    [[nodiscard]] std::uint64_t shared() const { return usage + kernel_usage + protection + spare_bytes + references; }

    std::uint64_t walks = 0;         // from a tenant to the root
    std::uint64_t pages_charged = 0; // by objects and pages, out of stocks or not
    std::uint64_t page_stock_hits = 0, page_stock_misses = 0;
    std::uint64_t byte_stock_hits = 0, byte_stock_misses = 0;
    std::uint64_t page_stock_drains = 0, byte_stock_drains = 0;

    // Updates of statistics: all, and those that left the stock, by reason.
    std::uint64_t statistics = 0;
    std::uint64_t flushed_by_size = 0, flushed_by_node = 0, flushed_by_owner = 0, flushed_by_drain = 0;
    std::uint64_t flushed_directly = 0; // without a cache
    [[nodiscard]] std::uint64_t flushed() const {
        return flushed_by_size + flushed_by_node + flushed_by_owner + flushed_by_drain + flushed_directly;
    }
};

} // namespace allot::memcg
