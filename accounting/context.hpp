// A context is what one thread knows of one tenant: the byte stock of the fast path, in one cache line.
//
// It exists so that a charge is one addition and one comparison: no locked instruction, no fence, no second line. It
// replaces the kernel's per-CPU byte stock, page stock and statistics cache together.
//
// Threads: `net` is written by the owner thread alone (and by its signal handlers), each time by one instruction, so
//   that a handler that interrupts the owner cannot lose an update. `hi`, `lo`, `stock` and everything below are
//   written under `lock`, by the owner's slow path or by a drainer.
// Owner: the region; the thread that opened a context closes or parks it.
// Invariants (outside the lock):
//   1. bytes(net) <= stock, unless the owner is between its addition and its slow path: what is charged covers what lives.
//   2. net > hi exactly when bytes(net) > stock, or when the context is closed by a drain.
//   3. net < lo means that more than the allowed bytes lie unused; it is a hint, never needed for exactness.
// Cost: 0 locked instructions and 0 shared writes on the fast path; a slow path takes `lock` and charges every level once.
#pragma once

#include "accounting/base/units.hpp"

#include <atomic>
#include <cstdint>

namespace allot {

struct context_cold; // the fields of the slow paths; accounting/context_table.hpp

struct alignas(64) context {
    // Written by the owner thread by single instructions; read by drainers, readers and verify. relaxed: a drainer's
    // membarrier orders it against hi (see drain.cpp).
    std::atomic<net_word> net;
    // Written under lock by the owner's slow path and by drainers; read by the owner's fast path, relaxed, after its
    // own addition to net (store, then load: the drainer's membarrier is the missing fence).
    std::atomic<net_word> hi;
    std::atomic<net_word> lo;
    std::uint32_t obj_cgroup; // index; written when the context is opened
    std::uint32_t index;      // of this context in the region
    std::atomic<std::uint32_t> lock;
    std::uint32_t flags;      // under lock
    // Bytes charged to the tenant and held here, live or not. Written under lock; read without it by whoever reports
    // (exact when the owner is quiet), relaxed: a figure, nobody decides on it outside the lock.
    std::atomic<std::int64_t> stock;
};
static_assert(sizeof(context) == 64);

// The owner adds d. One read-modify-write instruction without lock prefix: atomic against signal handlers of this
// thread, which is all that is needed, since nobody else writes.
inline void net_add(std::atomic<net_word> &net, net_word d) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__("addq %1, %0" : "+m"(net) : "er"(d) : "cc");
#else
    net.fetch_add(d, std::memory_order_relaxed);
#endif
}

// True: the object is covered. False: call context_charge_slow with the same d.
inline bool context_charge(context &c, net_word d) {
    net_add(c.net, d);
    std::atomic_signal_fence(std::memory_order_seq_cst); // keeps the compiler from moving the load of hi up
    return c.net.load(std::memory_order_relaxed) <= c.hi.load(std::memory_order_relaxed);
}

// True: nothing to do. False: call context_uncharge_slow.
inline bool context_uncharge(context &c, net_word d) {
    net_add(c.net, -d);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return c.net.load(std::memory_order_relaxed) >= c.lo.load(std::memory_order_relaxed);
}

} // namespace allot
