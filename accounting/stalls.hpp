// Stalls of real threads: the time in which one waits for memory, counted in the pressure of its tenant and all above it.
//
// Threads: any that holds no lock, outside signal handlers. Owner: the scope, of one thread.
// Invariants: 1. Whoever is destroyed or moved meanwhile: each level that counts a thread in counts it out, or is gone.
// Cost: two visits of the registry lock and a compare-and-swap a level; made only where a stall is, which costs more.
#pragma once

#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

// While it lives this thread stalls, working for that handle's tenant, on whose handle the caller has a reference.
class stall_scope {
public:
    explicit stall_scope(std::uint32_t obj_cgroup);
    ~stall_scope();
    stall_scope(const stall_scope &) = delete;
    stall_scope &operator=(const stall_scope &) = delete;

private:
    std::uint32_t obj_cgroup_;
};

// Waits shorter than this are no stalls.
inline constexpr std::uint64_t stall_ns_least = 50'000;
// One that is over: counted if it was long enough. For whoever knows only then; holds no lock.
void stall_past(std::uint32_t obj_cgroup, std::uint64_t nanoseconds);

} // namespace allot
