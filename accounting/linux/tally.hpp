// What one CPU's part of an engine did: counts that do not depend on the machine.
//
// They exist because the experiments' times need machines of 72 and 96 CPUs, and these figures need none. The counting rule:
// a read-modify-write counts if its line is written by several CPUs: usage and protection of page counters; the bytes
// that an obj_cgroup keeps for all CPUs; and a stock's taking and putting of its reference to an obj_cgroup, which the
// kernel counts by CPU while the cgroup lives and in one place afterwards. Statistics are kept by CPU: what counts there is
// how many updates leave the stock.
//
// How it is executed, where time is measured: as in the kernel, with locked instructions for usage, protection and spare
// bytes. References, the stocks' as well as one for each object, which is not counted, are those of a living cgroup: a plain
// addition to this CPU's part of the count, which is found through a pointer in the obj_cgroup's own line, beside the spare
// bytes. Taking one is thus a read of a line that other CPUs may have written, and no write of it. A time measured so
// understates what the counts say of a cgroup that has been removed and lives on for its objects.
//
// Threads: of the CPU that it belongs to. Owner: the engine's CPU. Invariants: counts only grow. Cost: an addition each.
#pragma once

#include <cstdint>
#include <iterator>

namespace allot::memcg {

struct tally {
#define ALLOT_COUNT(id, help) std::uint64_t id = 0;
#include "accounting/linux/tally.def"
#undef ALLOT_COUNT

    // Read-modify-writes of shared lines.
    [[nodiscard]] std::uint64_t shared() const { return usage + kernel_usage + protection + spare_bytes + references; }
    // Updates of statistics that left the stock, or met none.
    [[nodiscard]] std::uint64_t flushed() const {
        return flushed_by_size + flushed_by_node + flushed_by_owner + flushed_by_drain + flushed_directly;
    }
    tally &operator+=(const tally &other);
    tally &operator-=(const tally &other);
};

// For loops over the counts.
struct tally_field {
    std::uint64_t tally::*count;
    const char *name, *help;
};
inline constexpr tally_field tally_fields[] = {
#define ALLOT_COUNT(id, help) {&tally::id, #id, help},
#include "accounting/linux/tally.def"
#undef ALLOT_COUNT
};
static_assert(sizeof(tally) == std::size(tally_fields) * sizeof(std::uint64_t));

inline tally &tally::operator+=(const tally &other) {
    for (const tally_field &field : tally_fields) this->*field.count += other.*field.count;
    return *this;
}
inline tally &tally::operator-=(const tally &other) {
    for (const tally_field &field : tally_fields) this->*field.count -= other.*field.count;
    return *this;
}

} // namespace allot::memcg
