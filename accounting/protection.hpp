// Effective protection: how much of memory.min and memory.low a tenant really has, in a reclaim aimed at one of its ancestors.
//
// It exists because settings promise more than there is: a child cannot be protected by more than its parent is, and
// siblings who are promised more than their parent has share it by what they use of it. What a parent has and its children
// do not ask for is theirs all the same, by size ("recursive protection", as systemd mounts cgroup2).
//
// It is computed from the top down when it is needed, and kept nowhere. The kernel keeps the result in each group and finds
// there, when a group itself is to be reclaimed, what was meant for a reclaim of its parent.
//
// Threads: pure functions; those with tenants under the registry lock. Owner: nobody.
// Invariants: 1. The tenant that a reclaim is aimed at has no protection in it, and its children have what they ask for.
// Cost: a few multiplications a level.
#pragma once

#include <cstdint>

namespace allot {

struct tenant;

struct protection {
    std::uint64_t min, low; // bytes
};

// What counts of one level.
struct protection_level {
    std::uint64_t usage;
    protection asked;    // its settings
    protection children; // what its children use of what they ask for, summed
};

[[nodiscard]] protection effective_protection(const protection_level &level, const protection_level &parent,
                                              const protection &parents);
// Of a child of the tenant that the reclaim is aimed at.
[[nodiscard]] inline protection protection_at_the_top(const protection_level &level) { return level.asked; }

// The part of `bytes`, which are spread over a usage of which so much is protected, that is not.
[[nodiscard]] std::uint64_t unprotected_part(std::uint64_t bytes, std::uint64_t usage, std::uint64_t protected_bytes);

// --- of tenants; registry lock ----------------------------------------------------------------------------------------
[[nodiscard]] protection_level protection_level_of(const tenant &);
// Of t in a reclaim that is aimed at top; t is in its subtree.
[[nodiscard]] protection protection_in(const tenant &t, const tenant &top);

} // namespace allot
