// The drain: before a charge is refused, everything that lies unused in the stocks below the refusing level is taken.
//
// It exists because stocks make charges cheap and refusals false: bytes that an idle, sleeping or stopped thread holds
// must not be the reason why another one's malloc fails. Its owner need not run for its stock to be taken.
//
//   1. seal the contexts of the subtree that hold stock: their owners' next operation takes the slow path and waits for the
//      lock; those that hold none are kept from beginning to (context_begin_holding)
//   2. one membarrier: what an owner did before it saw the seal is visible, what it does later sees the seal
//   3. uncharge what each holds beyond its net
//   4. try the refused charge, with their locks still held; where a level above has a limit, with everyone's, since a charge
//      that it will refuse may be in flight
//   5. unlock; contexts stay sealed until their owner's next operation decides anew how much to hold
//
// Threads: any that holds no lock; one drain at a time.
// Owner: nobody.
// Invariants: a charge is refused only if it does not fit with every stock of the refusing level's subtree empty.
// Cost: two locks where nobody holds stock and no level above has a limit; else a lock and three loads a context that is
//   visited, and one membarrier unless all of them were sealed already.
#pragma once

#include "accounting/context.hpp"
#include "accounting/refusal.hpp"
#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

// What was refused at first: what a context is missing, or bytes for a handle's tenant.
struct refused_charge {
    context *ctx = nullptr;
    net_word d = 0; // that net was raised by; taken out of it again when refused
    std::uint32_t obj_cgroup = 0;
    std::uint64_t bytes = 0;
    std::uint64_t objects = 0;
    // Without a context: the statistics that the charge is part of.
    std::atomic<std::int64_t> charge_lines::*line = nullptr;
    std::atomic<std::int64_t> charge_lines::*object_line = nullptr;
    // Not 0: the charge exists already, for this handle's tenant, and is moved: common ancestors are left alone.
    std::uint32_t from = 0;
    refusal *left; // what a refusal leaves to settle
};

// True: charged, within max, or by headroom, or over it where the thread's mode says so. False: everything is as before,
// `max` is counted, and the caller has a refusal to settle. The calling thread owns ctx and holds no lock. With signals
// blocked.
[[nodiscard]] bool drain_and_charge(const refused_charge &charge);

// Takes all stocks below top, for a limit that has been lowered: what lies in stock could be used in spite of it. Charges
// through contexts that are on their way are waited for. With drain lock and registry lock.
void drain_subtree_of(const tenant &top);
// Waits for charges without context that are on their way. Holds no lock behind the registry's.
void pass_direct_locks();

// Before this process forbids itself system calls: takes all stocks while that can be done, and goes on without stocks.
void membarrier_forbid();

// The locks of charges without context, all of them.
void lock_all_direct();
void unlock_all_direct();
inline lock_word &direct_lock_of(std::uint32_t tenant) { return region().direct_locks[tenant % nr_direct_locks].word; }

} // namespace allot
