// Settling: what a charge leaves to do for a thread that holds no lock and is amid nothing: shrinkers, a refusal's policy,
// what going over `high` leads to.
//
// It exists so that user code never runs under a lock or amid an operation of the allocator: the slow paths charge or
// undo, leave a record and a flag (thread_charges.hpp), and their outermost caller comes here.
//
//   for (refusal left;;) {
//       if (p = attempt()) return p;                      // raises net, may leave a refusal
//       refusal_take(*ctx, left);
//       if (!settle_refusal(left)) return nullptr;        // final
//   }
//
// Threads: any; without locks, with signals open.
// Owner: the caller's record.
// Invariants: 1. Shrinkers are asked at most 16 times for one refusal. Once they have given nothing, the charge is tried a
//                last time.
//             2. A final refusal is counted once, as `oom`, at the level that had no room.
//             3. An injected failure is final at once, and nothing but `injected` is counted for it.
// Cost: a final refusal: two system calls (signals) and a lock; nothing where nothing is due.
#pragma once

#include "accounting/context.hpp"
#include "accounting/refusal.hpp"
#include "accounting/thread_charges.hpp"

#include <cstdint>

namespace allot {

inline constexpr std::uint8_t shrinker_tries_max = 16;

// Moves what the context's last refused charge left; the count of tries stays that of `into`.
void refusal_take(context &c, refusal &into);

// True: room may have been made, or is not needed any more: try the same again. False: it is refused for good.
[[nodiscard]] bool settle_refusal(refusal &);

// After a charge that succeeded and left settle_is_due(): shrinkers for what is above `high`, delays, events.
void settle_charge(std::uint32_t obj_cgroup);
inline void settle_charge(const context &c) { settle_charge(c.obj_cgroup); }

} // namespace allot
