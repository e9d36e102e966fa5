// Charging the tree: all levels from a tenant to the root, or none; and how much may be charged ahead.
//
// It exists beside page_counter so that one level and many levels stay two subjects, and beside drain so that what can be
// done without stopping anyone stays apart from what cannot.
//
// Threads: any; with the lock that keeps the tenant in place (its context's, a direct lock, or the drain lock): every
//   charge happens under a lock that a drainer takes, so that no charge or roll-back is in flight once it holds them all.
// Owner: nobody.
// Invariants: a refused charge leaves every level as it was, peaks included.
// Cost: one locked instruction a level, when it fits.
#pragma once

#include "accounting/context.hpp"
#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

// Charges from, its parent, … up to but without `stop` (nullptr: up to the root). nullptr: done; else the level that has
// no room, and nothing was changed.
[[nodiscard]] tenant *tree_try_charge(tenant &from, std::uint64_t bytes, const tenant *stop = nullptr);
void tree_uncharge(tenant &from, std::uint64_t bytes, const tenant *stop = nullptr);

// How much a context of t may charge ahead: a page or more, multiples of 16; 0: nothing, each operation is exact.
[[nodiscard]] std::uint64_t charge_batch_of(const tenant &t);

// Covers what net has beyond stock, without draining anyone, and lets the fast path go on. The owner of c, under its
// lock. nullptr: covered; else the level that has no room, and c stays sealed with a negative stock.
[[nodiscard]] tenant *context_cover(context &c);

// What a refusal leads to by the tenant's policy, after everything has been undone and unlocked.
void refused(tenant &asked, tenant &level, std::uint64_t bytes);

} // namespace allot
