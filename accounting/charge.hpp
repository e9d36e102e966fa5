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
#include "accounting/refusal.hpp"
#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

// Charges from, its parent, … up to but without `stop` (nullptr: up to the root). nullptr: done; else the level that has
// no room, and nothing was changed.
enum class charge_limit : std::uint8_t { max, headroom, none }; // how far a charge may go at each level
[[nodiscard]] tenant *tree_try_charge(tenant &from, std::uint64_t bytes, const tenant *stop = nullptr,
                                      charge_limit = charge_limit::max);
void tree_uncharge(tenant &from, std::uint64_t bytes, const tenant *stop = nullptr);

// How much a context may charge ahead, and leave unused: what it gave back is kept from the next time on, what it has not
// used yet is never charged further ahead than a batch. So usage and peak go beyond what lives by what was once used, and
// what swings up and down goes to the tree once.
struct charge_ahead {
    std::uint64_t batch; // whole pages; 0: nothing, each operation is exact
    std::uint64_t swing; // beyond two batches
    [[nodiscard]] std::uint64_t most_unused() const { return 2 * batch + swing; }
    [[nodiscard]] std::uint64_t left_unused() const { return batch + swing; } // when there was more
};
// For any context of t: the most at present.
[[nodiscard]] charge_ahead charge_ahead_of(const tenant &t);

// Covers what net has beyond stock, without draining anyone, and lets the fast path go on. The owner of c, under its
// lock. nullptr: covered; else the level that has no room, and c stays sealed with a negative stock.
[[nodiscard]] tenant *context_cover(context &c);

// Charges all levels whatever their limits, and counts it as forced. nullptr: done; else the level whose word cannot
// count so much.
[[nodiscard]] tenant *charge_over(tenant &t, std::uint64_t bytes, const tenant *stop = nullptr);

// What net was raised by goes out of it again, and what the context then has unused goes back. The owner of c, under its
// lock.
void context_take_back(context &c, net_word d, tenant &t);

// A charge of `bytes` below t succeeded within max: the headroom that a refusal above t had armed is not needed any more.
void charge_fitted(const tenant &t);
// Whether a refusal of this thread, or an emergency scope, lets a charge of t use headroom.
[[nodiscard]] bool may_use_headroom(const tenant &t, std::uint64_t bytes);

// Fills in what a refused charge leaves to settle, and that it does.
void leave_refusal(refusal &left, std::uint32_t asked, std::uint32_t level_depth, refusal_kind, std::uint64_t bytes);

} // namespace allot
