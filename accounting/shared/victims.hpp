// Whom a refusal ends, where processes share the tree: the one that is charged most below the level, or a whole group.
//
// Threads: any, holding nothing. Owner: nobody.
// Invariants: 1. Only processes that live, whose ids mean something here, are signalled.
//             2. Two who look at the same time choose the same one, as long as it lives: one refusal ends one process.
// Cost: a pass over all accounts, for each member.
#pragma once

#include <cstdint>

namespace allot::shared {

// What a member is charged at a node and below: bytes.
[[nodiscard]] std::uint64_t charged_below(std::uint32_t member, std::uint32_t node);
// The living member that is charged most there; 0: nobody is.
[[nodiscard]] std::uint32_t largest_below(std::uint32_t node);
// SIGKILL; false: it cannot be signalled from here.
bool end_member(std::uint32_t member);
// All members whose own tenant is the node or below, this process last: then this does not come back.
void end_all_below(std::uint32_t node);
// Until the member is dead, and what it held is given back; not longer than a second. False: it is not.
bool wait_for_end(std::uint32_t member);

} // namespace allot::shared
