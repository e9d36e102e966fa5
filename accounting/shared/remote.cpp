#include "accounting/shared/remote.hpp"

#include "accounting/base/mutex.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/proc.hpp"
#include "accounting/context_table.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/lease.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"

#include <cerrno>
#include <cstring>

namespace allot::shared {

namespace {

constexpr std::uint32_t ticket_bits = (std::uint32_t{1} << 30) - 1;

context &context_at(std::uint32_t index) { return *reinterpret_cast<context *>(context_address(index)); }

// Contexts of a member that are charged to an account.
template<class Visit>
void for_contexts(std::uint32_t member, std::uint32_t account, Visit visit) {
    for_chunks_of(member, [&](std::uint32_t first) {
        for (std::uint32_t index = first; index < first + chunk_contexts; ++index) {
            context &c = context_at(index);
            if ((c.flags.load(std::memory_order_seq_cst) & context_in_use) != 0 &&
                taking_at(index).account.load(std::memory_order_relaxed) == account)
                visit(index, c);
        }
    });
}

// Of a context under its lock, sealed and after a membarrier. late before net: see context_cold.
std::int64_t unused_of(std::uint32_t index, const context &c) {
    const taking &t = taking_at(index);
    std::int64_t late = cold_of(c).late.load(std::memory_order_acquire);
    std::uint64_t taken = t.taken.value.load(std::memory_order_relaxed) - t.seen.load(std::memory_order_relaxed);
    return c.stock.load(std::memory_order_relaxed) + late - static_cast<std::int64_t>(taken) -
           net_bytes(c.net.load(std::memory_order_relaxed));
}

// Whether the thread that holds the lock cannot be waited for.
bool is_out_of_reach(std::uint32_t member, std::uint32_t thread) {
    return !member_is_alive(member) ||
           is_stopped(proc_stat_of_thread(pid_in(member_at(member).identity.load(std::memory_order_acquire)), thread));
}

// False: its owner holds the lock and is stopped, or does not give it back.
bool lock_of_other(context &c, std::uint32_t member, std::uint32_t lock) {
    constexpr std::uint32_t spins = 100;
    constexpr std::uint64_t nap_ns = 50000, look_after_ns = 1000000, longest_ns = 40000000;
    std::uint64_t begin = 0, looked = 0;
    for (std::uint32_t tries = 0;; ++tries) {
        std::uint32_t seen = c.lock.load(std::memory_order_relaxed);
        // Free, or left by a drain that is over: its ticket is another's. seq_cst, as who looks at it in the ledger.
        if ((seen == 0 || ((seen & lock_foreign) != 0 && (seen & ~lock_sleepers) != lock)) &&
            c.lock.compare_exchange_strong(seen, lock | (seen & lock_sleepers), std::memory_order_seq_cst)) {
            if (seen != 0) ledger_flush(); // what that one may have been taking
            return true;
        }
        if (tries < spins) {
            os_pause();
            continue;
        }
        const std::uint64_t now = os_nanoseconds();
        if (begin == 0) begin = looked = now;
        if (now - looked > look_after_ns) {
            looked = now;
            if (now - begin > longest_ns || is_out_of_reach(member, seen & ~(lock_sleepers | lock_foreign)))
                return false;
        }
        os_sleep(nap_ns);
    }
}

} // namespace

namespace {

// A chunk of contexts in whose place a copy is, and where the chunk itself is mapped meanwhile. Written by a child's first
// thread before it has others, and under its drain lock.
struct shield {
    std::uint32_t first;
    std::uintptr_t aside;
};
constexpr std::uint32_t shields_max =
    16; // of a parent with more contexts than that, the others are changed by its child
constinit shield shields[shields_max] = {};
constinit std::uint32_t nr_shields = 0;

constexpr std::uint64_t chunk_bytes = std::uint64_t{chunk_contexts} * context_bytes;

void take_shields_away() {
    for (; nr_shields != 0; --nr_shields) {
        const shield &s = shields[nr_shields - 1];
        os_move_mapping(s.aside, context_address(s.first), chunk_bytes);
    }
}

} // namespace

void shield_contexts() {
    take_shields_away(); // of the parent, when it was itself a child that has never drained
    for_chunks_of(this_member, [](std::uint32_t first) {
        if (nr_shields == shields_max) return;
        const std::uintptr_t place = context_address(first), aside = os_map_again(place, chunk_bytes);
        if (aside == 0) return;
        if (!os_map_over(place, chunk_bytes)) return os_unmap(aside, chunk_bytes);
        std::memcpy(reinterpret_cast<void *>(place), reinterpret_cast<const void *>(aside), chunk_bytes);
        shields[nr_shields++] = {first, aside};
    });
}

remote_drain::remote_drain(std::uint32_t node, std::uint32_t ticket)
    : node_(node), ticket_(ticket), lock_(lock_foreign | (ticket & ticket_bits)) {
    take_shields_away();
}

// Accounts of others at the node and below whose contexts may hold stock.
template<class Visit>
void remote_drain::for_each(Visit visit) const {
    for_accounts([&](std::uint32_t index, const account &a, std::uint32_t member) {
        if (member == this_member || a.nr_holding.load(std::memory_order_seq_cst) == 0) return;
        if (is_node_below(node_of(a), node_))
            for_contexts(member, index, [&](std::uint32_t at, context &c) { visit(at, c, index, member); });
    });
}

template<class Visit>
void remote_drain::for_each_held(Visit visit) const {
    for_each([&](std::uint32_t index, context &c, std::uint32_t account, std::uint32_t) {
        if ((c.lock.load(std::memory_order_seq_cst) & ~lock_sleepers) == lock_) visit(index, c, account);
    });
}

bool remote_drain::seal() {
    bool must_order = false;
    for_each([&](std::uint32_t, context &c, std::uint32_t, std::uint32_t member) {
        if ((c.flags.load(std::memory_order_seq_cst) & context_holding) == 0 || !lock_of_other(c, member, lock_))
            return;
        ++held_;
        c.hi.store(sealed_hi, std::memory_order_relaxed);
        c.lo.store(sealed_lo, std::memory_order_relaxed);
        must_order = true;
    });
    return must_order;
}

void remote_drain::take() {
    for_each_held([&](std::uint32_t index, const context &c, std::uint32_t account) {
        const std::int64_t unused = unused_of(index, c);
        if (unused > 0) (void)ledger_take(account, index, lock_, static_cast<std::uint64_t>(unused));
    });
}

bool remote_drain::all_held() const {
    std::uint32_t held = 0;
    for_each_held([&held](std::uint32_t, const context &, std::uint32_t) { ++held; });
    return held == held_;
}

void remote_drain::unlock() {
    for_each_held([this](std::uint32_t, context &c, std::uint32_t) {
        std::uint32_t mine = lock_;
        if (c.lock.compare_exchange_strong(mine, 0, std::memory_order_seq_cst)) return;
        mine = lock_ | lock_sleepers;
        if (c.lock.compare_exchange_strong(mine, 0, std::memory_order_seq_cst)) os_futex_wake(&c.lock, 1);
    });
    held_ = 0;
}

int drain_others(std::uint32_t node) {
    constexpr int tries_max = 10;
    for (int tries = 0; tries < tries_max; ++tries) {
        const std::uint32_t ticket = lease_take(node);
        remote_drain others(node, ticket);
        const bool is_ordered = !others.seal() || os_membarrier_of_all();
        if (is_ordered) others.take();
        const bool is_done = is_ordered && others.all_held() && lease_extend(ticket, node);
        others.unlock();
        lease_give(ticket);
        if (is_done) return 0;
    }
    return -EAGAIN;
}

std::uint64_t unused_of_account(std::uint32_t account) {
    std::uint64_t sum = 0;
    const std::uint32_t member = member_of_tag(high_of(account_at(account).owner.load(std::memory_order_acquire)));
    for_contexts(member, account, [&sum](std::uint32_t at, const context &c) {
        const std::int64_t unused = unused_of(at, c);
        if (unused > 0) sum += static_cast<std::uint64_t>(unused);
    });
    return sum;
}

std::uint64_t unused_below(std::uint32_t node) {
    std::uint64_t sum = 0;
    for_accounts([&](std::uint32_t index, const account &a, std::uint32_t) {
        if (a.nr_contexts.load(std::memory_order_relaxed) == 0 || !is_node_below(node_of(a), node)) return;
        sum += unused_of_account(index);
    });
    return sum;
}

} // namespace allot::shared
