// The lease: one drain at a time in a shared hierarchy, for no longer than it makes progress.
//
// It exists because two drains that each take half of what is unused would both fail, and because a lock would be held for
// ever by a drainer that is stopped. A lease ends by itself; what its last holder still does after that is void, since each of
// its operations names its ticket.
//
// Threads: any of any attached process.
// Owner: the member that has it; anyone takes over when that is dead or the time is over.
// Invariants: 1. Tickets grow: who finds another one than his own has lost the lease.
//             2. While a lease with a node in `draining` stands, nobody below that node begins to hold stock.
// Cost: two locked instructions where nobody else has it.
#pragma once

#include <cstdint>

namespace allot::shared {

// Whether this process may look whether others live, and order their threads: until it forbids itself system calls, which may
// be by death. Written by who is about to, once; read by all threads, relaxed: earlier is as good.
[[nodiscard]] bool may_look_at_others();
void forbid_looking();

// How long a holder that is not heard of is waited for.
inline constexpr std::uint64_t lease_ns = 10000000;

// Waits for it. The ticket, not 0. `node`: what is going to be drained.
[[nodiscard]] std::uint32_t lease_take(std::uint32_t node);
// Still mine, and from now on for lease_ns more, with another node drained. False: it is lost.
[[nodiscard]] bool lease_extend(std::uint32_t ticket, std::uint32_t node);
void lease_give(std::uint32_t ticket); // if it is still mine

// Whether a drain goes on at or above the node. One whose time is over is ended by this. seq_cst: see context_begin_holding.
[[nodiscard]] bool is_drained(std::uint32_t node);

} // namespace allot::shared
