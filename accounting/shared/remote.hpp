// Taking unused stock from contexts of other processes, which may be asleep or stopped.
//
// As a drain does with its own process's contexts (drain.hpp): lock, seal, order by membarrier, take what is not used, and
// keep them locked until the refused charge has been tried. What differs is that nobody may be held up by whoever is
// stopped:
//
//   a lock by us bears our lease's ticket and the mark of a foreign holder: who owns the context breaks it after a while,
//     then finishes what the ledger has under way, and goes on
//   what is taken is taken by the ledger, only if the lock is still ours at that moment, and is counted beside the context
//     (`taking`); its owner subtracts it from stock when it next holds the lock
//   beside that, only hi and lo are written, and only so that the next operation is a slow one
//   a context whose own owner holds the lock is waited for if that runs, and left out if it is stopped: what it holds, a
//     batch or so, is unavailable
//
// Threads: one drain at a time: with the lease (lease.hpp). Any attached process, member or not.
// Owner: nobody.
// Invariants: 1. Between seal() and unlock(), as long as all_held(): no context of another process below the node has
//                unused stock but those that were left out, and none begins to.
// Cost: a line for each account of the hierarchy; two lines and a locked instruction a context that holds stock.
#pragma once

#include "accounting/context.hpp"

#include <cstdint>

namespace allot::shared {

class remote_drain {
public:
    remote_drain(std::uint32_t node, std::uint32_t ticket);

    // Locks and seals. True: some must be ordered by a membarrier of all processes before they are taken from.
    [[nodiscard]] bool seal();
    void take();
    // Whether all that were locked still are.
    [[nodiscard]] bool all_held() const;
    void unlock();

private:
    template<class Visit>
    void for_each(Visit visit) const;
    template<class Visit>
    void for_each_held(Visit visit) const;

    const std::uint32_t node_, ticket_, lock_;
    std::uint32_t held_ = 0;
};

// In a forked child, whose code goes on where a handler has interrupted its parent's: puts copies in the place of the parent's
// contexts, in this process alone. The next drain takes them away again, for the parent's contexts may be another's by then.
void shield_contexts();

// Takes the stocks of all processes but this one at a node and below: after a limit there was lowered. -EAGAIN: the lease was
// lost each time. Holds no lock but the drain's and the registry's of this process.
int drain_others(std::uint32_t node);

// The same of one account.
[[nodiscard]] std::uint64_t unused_of_account(std::uint32_t account);
// What lies unused in the stocks of all processes at a node and below: bytes, of a moment.
[[nodiscard]] std::uint64_t unused_below(std::uint32_t node);

} // namespace allot::shared
