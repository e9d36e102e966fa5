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
//   1. bytes(net) <= stock, unless the owner is between its addition and its slow path, or taking it back at once because it
//      is not covered: what is charged covers what lives.
//   2. net > hi exactly when bytes(net) > stock, or when the context is closed by a drain.
//   3. net < lo means that more than the allowed bytes lie unused (charge_ahead); it is a hint, never needed for exactness.
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
    // Written under lock; read without it by drainers, who look for contexts that hold stock (context_table.hpp).
    std::atomic<std::uint32_t> flags;
    // Bytes charged to the tenant and held here, live or not. Written under lock; read without it by whoever reports
    // (exact when the owner is quiet), relaxed: a figure, nobody decides on it outside the lock.
    std::atomic<std::int64_t> stock;
    // How far traffic has been seen to swing: bytes that the owner gave back and soon wanted again, which it may leave unused
    // from then on; and those given back since it last wanted some. Under lock, by the owner, and by drainers, who end both.
    std::uint32_t swing, returned;
};
static_assert(sizeof(context) == 64);

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define ALLOT_NET_BY_ONE_INSTRUCTION
#endif

// The owner adds d. On x86-64 by one read-modify-write instruction without lock prefix: atomic against signal handlers of
// this thread, which is all that is needed, since nobody else writes.
inline void net_add(std::atomic<net_word> &net, net_word d) {
#ifdef ALLOT_NET_BY_ONE_INSTRUCTION
    __asm__("addq %1, %0" : "+m"(net) : "er"(d) : "cc");
#else
    net.fetch_add(d, std::memory_order_relaxed);
#endif
}

// The two of the fast path: the addition and the look at a limit are one piece of assembly, so that no compiler loads the
// limit before the addition, and because none folds an atomic load into a comparison. charge names a register because g++
// otherwise copies the object's address twice to get it out of the way.

// True: the object is covered. False: call context_charge_slow with the same d.
[[gnu::always_inline]] inline bool context_charge(context &c, net_word d) {
#ifdef ALLOT_NET_BY_ONE_INSTRUCTION
    net_word now;
    bool is_covered;
    __asm__ volatile("addq %[d], %[net]\n\tmovq %[net], %[now]\n\tcmpq %[hi], %[now]"
                     : [net] "+m"(c.net), [now] "=&d"(now), "=@ccle"(is_covered)
                     : [d] "er"(d), [hi] "m"(c.hi)
                     : "memory");
    return is_covered;
#else
    c.net.fetch_add(d, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return c.net.load(std::memory_order_relaxed) <= c.hi.load(std::memory_order_relaxed);
#endif
}

// True: nothing to do. False: call context_uncharge_slow.
[[gnu::always_inline]] inline bool context_uncharge(context &c, net_word d) {
#ifdef ALLOT_NET_BY_ONE_INSTRUCTION
    net_word now;
    bool is_enough;
    __asm__ volatile("subq %[d], %[net]\n\tmovq %[net], %[now]\n\tcmpq %[lo], %[now]"
                     : [net] "+m"(c.net), [now] "=&r"(now), "=@ccge"(is_enough)
                     : [d] "er"(d), [lo] "m"(c.lo)
                     : "memory");
    return is_enough;
#else
    c.net.fetch_sub(d, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return c.net.load(std::memory_order_relaxed) >= c.lo.load(std::memory_order_relaxed);
#endif
}

} // namespace allot
