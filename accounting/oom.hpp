// What a refusal that is final leads to: the policy of the level that had no room.
//
// Threads: any; without locks. Owner: nobody. Cost: nothing with the policy `fail`.
// Invariants: 1. Nothing is allocated and nothing printed unless the policy says so.
//             2. It is not called for injected failures, nor for charges that asked for a quick answer.
//             3. With `kill`, oom_kill is counted at the victim's tenant, and oom_group_kill at the highest one between it
//                and the level that asks for it, before the process ends by SIGKILL. A process has one region of its own
//                so far, and is all that can be killed.
#pragma once

#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

// By the nearest ancestor-or-self that says something. Registry lock.
[[nodiscard]] refusal_policy policy_of(const tenant &level);

// Where processes share the tree the one that is charged most at the level is ended, or those of the group it is in. Else: whose
// process a kill takes, for a charge of `asked` that `level` refused: the process's own tenant if the level is at or
// above it, else the one that asked, for a thread of the process worked for it.
[[nodiscard]] tenant &victim_of(tenant &asked, const tenant &level);
// The highest from the victim up to the level whose memory.oom.group is set; nullptr: none.
[[nodiscard]] tenant *group_of(tenant &victim, const tenant &level);

// `bytes` for `asked` did not fit at `level`, whose policy it is. Records stay readable whatever happens to their tenants
// meanwhile: at worst a report names others. True: another process was ended, and the same may fit now.
[[nodiscard]] bool refused(refusal_policy policy, tenant &asked, tenant &level, std::uint64_t bytes);

} // namespace allot
