// What only some tenants have: a plan of failures, the state of pressure and delays. A record of its own, made at first use.
//
// It exists so that a tenant stays eight lines, and a program of 100,000 tenants pays for what it uses.
//
// Threads: made under the registry lock; found without any. Fields say what protects them.
// Owner: its tenant's record, with which it is freed.
// Invariants: a record that is named by a tenant that is not unused names it back.
// Cost: 256 bytes; finding it is one load.
#pragma once

#include "accounting/pressure.hpp"
#include "accounting/tenant.hpp"

#include <atomic>
#include <cstdint>

namespace allot {

// Which of a tenant's own charges fail; failures.hpp. The plan is written under the drain lock and the registry lock.
struct failure_plan {
    std::atomic<std::uint64_t> first, last; // of the charges counted from 1 since the plan was made; 0: none
    std::atomic<std::uint64_t> above;       // every charge of more bytes; `unlimited`: none
    std::atomic<std::uint64_t> counted;     // charges since then. relaxed: each takes a number of its own
    std::atomic<std::uint64_t> injected;    // failures so far: a statistic
};

struct tenant_extra {
    static constexpr table in = table::tenant_extras;

    std::uint32_t tenant; // index, 0 while free
    std::uint32_t free_next;
    failure_plan failures;
    pressure stalls; // of threads that work for the tenant or below it
    // Bytes charged over high for which no delay has passed yet: added by chargers, taken by who lets it pass. relaxed.
    std::atomic<std::uint64_t> delay_owed_bytes;
    // The same since shrinkers were asked last.
    std::atomic<std::uint64_t> unvisited_bytes;
    // Statistics, relaxed: microseconds of delays, bytes that shrinkers gave back, threads that are delayed now.
    std::atomic<std::uint64_t> delayed_us, reclaimed;
    std::atomic<std::uint32_t> nr_delayed;
    std::uint64_t external_held; // bytes for which the tenant's C handle stands; registry lock; see external.hpp
    char unused[72];
};
static_assert(sizeof(tenant_extra) == 256);

// nullptr: it has none yet, or cannot have one. acquire: what is in it was initialised before it was named.
inline tenant_extra *extra_if_any(const tenant &t) {
    return record_of<tenant_extra>(t.extra.load(std::memory_order_acquire));
}

// Whether it has counted something that its tenant's parent takes over.
inline bool extra_has_figures(const tenant_extra &extra) {
    return (extra.failures.injected | extra.delayed_us | extra.reclaimed | extra.nr_delayed) != 0;
}

// Makes it where there is none; nullptr: the region cannot grow. Registry lock.
[[nodiscard]] tenant_extra *extra_of(tenant &t);
void extra_free(tenant &t); // registry lock

} // namespace allot
