// Accounts: what one process is charged for at one tenant, and the chunks of contexts that belong to a process.
//
// They exist so that what a process holds is known to the byte when it is dead, without a look into it.
//
// Threads: any of any attached process; no lock. An account is opened and closed by its member, under its registry lock, or
//   closed by who reaps it.
// Owner: the member that it names.
// Invariants: 1. A free account has nothing charged; one with a node is of its generation.
//             2. Whoever passes over all accounts (below the highest used index) misses none that was opened before.
// Cost: opening looks for a free record from a hint on; passing over all of them reads one line each.
#pragma once

#include "accounting/shared/file.hpp"

#include <cstdint>

namespace allot::shared {

// Of this process at a living node. 0: no room, or the node is being removed.
[[nodiscard]] std::uint32_t account_open(std::uint32_t node);
// Of a member that is alive, by itself, now and then, and before it decides by `inherited`: brings the lines of statistics up to
// what the ledger has passed to it from dead ones.
void account_settle(std::uint32_t account);
// The process frees so many bytes that it has inherited: it holds less of what the payer pays for, or pays less itself.
void account_free_inherited(std::uint32_t account, std::uint64_t bytes);
// What of that is not in the lines yet: `inherited` is lower, and `settled_bytes` higher, by so much.
[[nodiscard]] inline std::uint64_t account_unsettled(const account &a) {
    return (a.passed.value.load(std::memory_order_relaxed) - a.passed_seen.load(std::memory_order_relaxed)) % handed_on;
}
// Gives the record back. It has nothing charged and no contexts.
void account_close(std::uint32_t account);

// Those of living records, in no order: visit(index, account &, member index). A record may change hands meanwhile.
template<class Visit>
void for_accounts(Visit visit) {
    const std::uint32_t end = used(part::accounts);
    for (std::uint32_t index = 1; index < end && index < nr_accounts; ++index) {
        account &a = account_at(index);
        const std::uint64_t owner = a.owner.load(std::memory_order_seq_cst);
        if (owner != 0) visit(index, a, member_of_tag(high_of(owner)));
    }
}

// A chunk of contexts for this process: the index of its first context, 0: no room. Chunk 0 is never given out.
[[nodiscard]] std::uint32_t chunk_open();
// Calls visit(index of the first context) for each chunk of a member.
template<class Visit>
void for_chunks_of(std::uint32_t member, Visit visit) {
    const std::uint32_t end = used(part::chunk_owners);
    for (std::uint32_t chunk = 1; chunk < end && chunk < nr_chunks; ++chunk)
        if (low_of(chunk_owner(chunk).load(std::memory_order_acquire)) == member) visit(chunk * chunk_contexts);
}

} // namespace allot::shared
