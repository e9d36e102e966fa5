// Reclaim: asking the program for memory, by the shrinkers that it has registered.
//
// Threads: any; without locks. User code runs, inside a user_code_scope.
// Owner: nobody. Cost: nothing where no shrinker is registered.
// Invariants: a level is named by its C handle: one that is destroyed meanwhile has nothing to give.
#pragma once

#include <cstdint>

struct allot_tenant;

namespace allot {

// For a charge of `bytes` that did not fit at the level: what shrinkers of its subtree gave back, 0: nothing.
[[nodiscard]] std::uint64_t reclaim_for_refusal(allot_tenant *level, std::uint64_t bytes);

// For a level that uses `excess` bytes more than its `high`. Delays follow where they are asked for.
void reclaim_for_high(allot_tenant *level, std::uint64_t excess);

// Calls back whoever waits for events that have been counted since.
void deliver_events();

} // namespace allot
