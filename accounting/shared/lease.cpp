#include "accounting/shared/lease.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"

namespace allot::shared {

namespace {

// Of who drains without being a member: the command.
constexpr std::uint32_t observer = nr_members;

constinit std::atomic<bool> is_forbidden{false};

std::uint32_t holder_id() { return this_member == 0 ? observer : this_member; }

// Whether nobody has it, or who has it cannot be heard of.
bool is_free(std::uint64_t lease) {
    const std::uint32_t holder = low_of(lease);
    if (holder == 0) return true;
    if (os_nanoseconds() >= head().lease_until.load(std::memory_order_acquire)) return true;
    return may_look_at_others() && holder < nr_members && holder != this_member && !member_is_alive(holder);
}

// The time first: who finds the lease taken must not find the time of an earlier one.
void set_until() { head().lease_until.store(os_nanoseconds() + lease_ns, std::memory_order_release); }

// Whether ticket a was given out after b; they wrap.
bool is_later(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

// Not over a later holder's. False: there is one.
bool set_drained(std::uint32_t ticket, std::uint32_t node) {
    std::uint64_t seen = head().draining.load(std::memory_order_seq_cst);
    do {
        if (low_of(seen) != 0 && is_later(high_of(seen), ticket)) return false;
    } while (!head().draining.compare_exchange_weak(seen, two_of(ticket, node), std::memory_order_seq_cst));
    return true;
}

} // namespace

bool may_look_at_others() { return !is_forbidden.load(std::memory_order_relaxed); }
void forbid_looking() { is_forbidden.store(true, std::memory_order_relaxed); }

std::uint32_t lease_take(std::uint32_t node) {
    constexpr std::uint32_t spins = 200;
    constexpr std::uint64_t nap_ns = 50000;
    for (std::uint32_t tries = 0;; ++tries) {
        std::uint64_t seen = head().lease.load(std::memory_order_seq_cst);
        // A holder that took it a moment ago may not have set its time yet: it is not older than the lease's own length.
        if (is_free(seen)) {
            std::uint32_t ticket = high_of(seen) + 1;
            if (ticket == 0) ticket = 1;
            set_until();
            if (head().lease.compare_exchange_strong(seen, two_of(ticket, holder_id()), std::memory_order_seq_cst)) {
                set_until();
                if (set_drained(ticket, node)) return ticket;
            }
        }
        if (tries < spins)
            os_pause();
        else
            os_sleep(nap_ns);
    }
}

bool lease_extend(std::uint32_t ticket, std::uint32_t node) {
    if (head().lease.load(std::memory_order_seq_cst) != two_of(ticket, holder_id())) return false;
    set_until();
    if (!set_drained(ticket, node)) return false;
    // It may have been lost before the time was set: then that only makes the next one's longer.
    return head().lease.load(std::memory_order_seq_cst) == two_of(ticket, holder_id());
}

void lease_give(std::uint32_t ticket) {
    std::uint64_t drained = head().draining.load(std::memory_order_relaxed);
    if (high_of(drained) == ticket)
        head().draining.compare_exchange_strong(drained, 0, std::memory_order_seq_cst, std::memory_order_relaxed);
    std::uint64_t mine = two_of(ticket, holder_id());
    head().lease.compare_exchange_strong(mine, two_of(ticket, 0), std::memory_order_seq_cst);
}

bool is_drained(std::uint32_t node) {
    const std::uint64_t drained = head().draining.load(std::memory_order_seq_cst);
    if (low_of(drained) == 0 || !is_node_below(node, low_of(drained))) return false;
    std::uint64_t lease = head().lease.load(std::memory_order_seq_cst);
    if (high_of(lease) == high_of(drained) && !is_free(lease)) return true;
    // Left by a holder that is gone or lost it. Who is late with a lease of that ticket finds that he has it no more.
    if (high_of(lease) == high_of(drained) && low_of(lease) != 0 &&
        !head().lease.compare_exchange_strong(lease, two_of(high_of(lease), 0), std::memory_order_seq_cst))
        return true; // somebody else's by now: its drain is about to begin, or has
    std::uint64_t stale = drained;
    head().draining.compare_exchange_strong(stale, 0, std::memory_order_seq_cst);
    return low_of(head().draining.load(std::memory_order_seq_cst)) != 0;
}

} // namespace allot::shared
