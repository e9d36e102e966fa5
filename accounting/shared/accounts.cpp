#include "accounting/shared/accounts.hpp"

#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"

namespace allot::shared {

namespace {

// Where this process looks first for a free record. Written and read by any thread, relaxed: a hint.
constinit std::atomic<std::uint32_t> next_account{0}, next_chunk{0};

// Records that have been used, from the hint on, until one of them could be claimed; the next fresh one before going far.
template<class Claim>
std::uint32_t find_free(part p, std::atomic<std::uint32_t> &hint, Claim claim) {
    constexpr std::uint32_t near = 64;
    std::uint32_t end = used(p), at = hint.load(std::memory_order_relaxed);
    for (std::uint32_t tries = 0; tries < end; ++tries, ++at) {
        if (at == 0 || at >= end) at = 1;
        if (at < end && claim(at)) {
            hint.store(at + 1, std::memory_order_relaxed);
            return at;
        }
        if (tries == near)
            if (const std::uint32_t fresh = take_fresh(p); fresh != 0 && claim(fresh)) return fresh;
    }
    while (const std::uint32_t fresh = take_fresh(p))
        if (claim(fresh)) return fresh;
    return 0;
}

bool claim_word(std::atomic<std::uint64_t> &owner, std::uint64_t mine) {
    std::uint64_t nobody = 0;
    return owner.load(std::memory_order_relaxed) == 0 &&
           owner.compare_exchange_strong(nobody, mine, std::memory_order_acq_rel);
}

} // namespace

std::uint32_t account_open(std::uint32_t node) {
    const std::uint64_t mine = two_of(this_tag, 0);
    const std::uint32_t index = find_free(part::accounts, next_account,
                                          [&](std::uint32_t at) { return claim_word(account_at(at).owner, mine); });
    if (index == 0) return 0;
    account &a = account_at(index);
    // What is charged there is zero, and the stamps stay: who is late with an operation of the last owner finds them higher.
    for (auto *at : {&a.nr_holding, &a.nr_contexts, &a.nr_delayed}) at->store(0, std::memory_order_relaxed);
    for (auto *at : {&a.lines.large, &a.lines.external, &a.lines.settled_bytes, &a.lines.settled_objects, &a.inherited,
                     &a.passed_left})
        at->store(0, std::memory_order_relaxed);
    a.peak.store(0, std::memory_order_relaxed);
    a.passed_seen.store(a.passed.value.load(std::memory_order_relaxed), std::memory_order_relaxed);
    a.generation.fetch_add(1, std::memory_order_relaxed);
    // seq_cst: see node_hold. What is above is seen by who sees the node.
    a.owner.store(two_of(this_tag, node), std::memory_order_seq_cst);
    if (node_hold(node)) return index;
    account_close(index);
    return 0;
}

void account_close(std::uint32_t index) {
    account &a = account_at(index);
    if (a.charged.value.load(std::memory_order_acquire) != 0) {
        note_anomaly();
        (void)ledger_reap(index, a.generation.load(std::memory_order_relaxed));
    }
    a.owner.store(0, std::memory_order_seq_cst);
    next_account.store(index, std::memory_order_relaxed);
}

// Whoever counts a difference as seen is who books it. Only threads of the member do, so nobody is left who misses it if that
// one dies. A pass was of what was inherited a moment ago: what has been freed since is given back.
void account_settle(std::uint32_t index) {
    account &a = account_at(index);
    std::uint64_t seen = a.passed_seen.load(std::memory_order_relaxed);
    const std::uint64_t passed = a.passed.value.load(std::memory_order_acquire);
    if (seen == passed || !a.passed_seen.compare_exchange_strong(seen, passed, std::memory_order_relaxed)) return;
    auto bytes = static_cast<std::int64_t>(passed - seen);
    const std::int64_t left = a.inherited.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
    a.lines.settled_bytes.fetch_add(bytes, std::memory_order_relaxed);
    a.passed_left.fetch_add(bytes, std::memory_order_relaxed);
    if (left >= 0) return;
    const std::int64_t freed = -left < bytes ? -left : bytes;
    a.inherited.fetch_add(freed, std::memory_order_relaxed);
    a.lines.settled_bytes.fetch_sub(freed, std::memory_order_relaxed);
    a.passed_left.fetch_sub(freed, std::memory_order_relaxed);
    if (ledger_uncharge(index, static_cast<std::uint64_t>(freed)).is != verdict::done) note_anomaly();
}

namespace {

// As much of `bytes` as there is; what was taken.
std::int64_t take_from(std::atomic<std::int64_t> &have, std::int64_t bytes) {
    std::int64_t seen = have.load(std::memory_order_relaxed), some;
    do some = seen < 0 ? 0 : seen < bytes ? seen : bytes;
    while (!have.compare_exchange_weak(seen, seen - some, std::memory_order_relaxed));
    return some;
}

} // namespace

void account_free_inherited(std::uint32_t index, std::uint64_t bytes) {
    account &a = account_at(index);
    account_settle(index);
    const auto all = static_cast<std::int64_t>(bytes);
    const std::int64_t own = take_from(a.passed_left, all - take_from(a.inherited, all));
    if (own == 0) return;
    a.lines.settled_bytes.fetch_sub(own, std::memory_order_relaxed);
    if (ledger_uncharge(index, static_cast<std::uint64_t>(own)).is != verdict::done) note_anomaly();
}

std::uint32_t chunk_open() {
    const std::uint64_t mine =
        two_of(generation_in(member_at(this_member).identity.load(std::memory_order_relaxed)), this_member);
    const std::uint32_t chunk =
        find_free(part::chunk_owners, next_chunk, [&](std::uint32_t at) { return claim_word(chunk_owner(at), mine); });
    if (chunk == 0) return 0;
    const std::uint32_t first = chunk * chunk_contexts, last = first + chunk_contexts - 1;
    if (!reach(part::contexts, first) || !reach(part::contexts, last) || !reach(part::takings, first) ||
        !reach(part::takings, last)) {
        chunk_owner(chunk).store(0, std::memory_order_release);
        return 0;
    }
    for (std::uint32_t context = first; context <= last; ++context) {
        taking &t = taking_at(context);
        t.account.store(0, std::memory_order_relaxed);
        t.seen.store(t.taken.value.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    return first;
}

} // namespace allot::shared
