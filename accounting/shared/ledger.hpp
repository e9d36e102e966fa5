// The ledger: changes of several figures of a shared tree, as one step that no death and no stop can leave half done.
//
// It exists because a charge changes an account and each level above it, a drain moves what it takes, and a process may be
// killed or stopped between any two instructions. So an operation is first written down where all can see it, and then
// anybody can finish it:
//
//   announce  its record becomes the current operation, with the next number; if another one is under way, that is finished
//             first, by whoever comes
//   decide    whether it fits at every level, by one compare-and-swap: figures do not change while it is current, so all
//             who look decide alike, and what may change meanwhile (a limit, a lock) is as the first one saw it
//   apply     each figure whose stamp is lower than the number gets its change and the number as its stamp, at once
//   conclude  it is not under way any more
//
// Threads: any of any attached process, and signal handlers; nobody waits for anybody.
// Owner: nobody.
// Invariants: 1. One operation at a time: between two, usage of a node = sum of what accounts at it and below are charged.
//             2. Numbers grow. A figure's stamp is the number of the last operation that changed it; who is late finds that
//                it is not lower than his, or that his compare-and-swap fails.
//             3. A refused operation changes nothing.
// Cost: for a charge of three levels nine locked instructions. A thread that is interrupted amid one holds up nobody, but
//   makes others do its work.
#pragma once

#include "accounting/shared/layout.hpp"

#include <cstdint>

namespace allot::shared {

enum class verdict : std::uint32_t {
    done,
    refused, // no room at a level
    void_,   // what it was meant for is not so any more: another lock, another owner, less than it was to take
};
struct outcome {
    verdict is;
    std::uint32_t depth; // of the level that refused; 0 is the root
};

enum class beyond : std::uint32_t { max, headroom, anything }; // how far a charge may go at each level

[[nodiscard]] outcome ledger_charge(std::uint32_t account, std::uint64_t bytes, beyond = beyond::max);
// void_: the account has less; nothing was changed.
[[nodiscard]] outcome ledger_uncharge(std::uint32_t account, std::uint64_t bytes);
// From the stock of a context, out of `account`. void_: its lock is another's by now, the account is not
// of the context's owner, or has less.
[[nodiscard]] outcome ledger_take(std::uint32_t account, std::uint32_t context, std::uint32_t lock,
                                  std::uint64_t bytes);
// All that a dead member's account has. void_: the record is not of that generation any more, or it has nothing.
[[nodiscard]] outcome ledger_reap(std::uint32_t account, std::uint32_t generation);
// Levels that both have in common do not change; the others of the second must have room, unless it may go beyond.
[[nodiscard]] outcome ledger_move(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, beyond = beyond::max);
// All of it, to an account at the same node or above. As ledger_reap. For a tenant's end and for heirs.
[[nodiscard]] outcome ledger_move_all(std::uint32_t from, std::uint32_t generation, std::uint32_t to);

// So much of a dead member's account to that of its heir at the same node, whose `passed` tells of it; once only.
// void_: that was done, one of the records is of another generation, or there is less.
[[nodiscard]] outcome ledger_pass(std::uint32_t from, std::uint32_t generation, std::uint32_t to,
                                  std::uint32_t to_generation, std::uint64_t bytes);

// Finishes the operation that is under way, if one is: all later ones see what the caller wrote before.
void ledger_flush();

// The number of the last operation, and whether one is under way: equal and quiet before and after means that figures
// read in between are of one moment.
struct ledger_moment {
    std::uint64_t number;
    bool is_quiet;
    bool operator==(const ledger_moment &) const = default;
};
[[nodiscard]] ledger_moment ledger_now();

} // namespace allot::shared
