#include "accounting/shared/ledger.hpp"

#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"
#include "accounting/context.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/wide.hpp"

namespace allot::shared {

namespace {

// --- the word of the current operation ------------------------------------------------------------------------------------

constexpr std::uint64_t under_way = nr_ops;
static_assert((nr_ops & (nr_ops - 1)) == 0);
constexpr std::uint64_t number_of(std::uint64_t current) { return current / (2 * under_way); }
constexpr std::uint32_t index_of(std::uint64_t current) { return static_cast<std::uint32_t>(current % nr_ops); }
constexpr std::uint64_t current_word(std::uint64_t number, std::uint32_t index) {
    return number * (2 * under_way) | under_way | index;
}

// --- decisions: what verdict and depth, with the number ----------------------------------------------------------------------

constexpr std::uint64_t decided(std::uint64_t number, outcome o) {
    static_assert(ALLOT_TENANT_DEPTH_MAX < 64);
    return number << 8 | static_cast<std::uint64_t>(o.is) << 6 | o.depth;
}
constexpr outcome outcome_in(std::uint64_t decision) {
    return {verdict{static_cast<std::uint32_t>(decision >> 6 & 3)}, static_cast<std::uint32_t>(decision & 63)};
}

// What an operation asks for, copied from its record while it was the current one.
struct wish {
    op_kind kind = op_kind::charge;
    std::uint32_t account = 0, to_account = 0, node = 0, to_node = 0, context = 0, lock = 0, to_generation = 0;
    beyond how_far = beyond::max;
    std::uint32_t generation = 0;
    std::uint64_t bytes = 0;
};

std::uint64_t now(const wide &w) { return w.value.load(std::memory_order_relaxed); }

std::uint64_t room_at(const node &n, beyond how_far) {
    if (how_far == beyond::anything) return unlimited;
    // seq_cst, as the word of ledger_flush: an operation that is announced after that is decided by what was set before.
    std::uint64_t max = n.set.max.load(std::memory_order_seq_cst);
    if (how_far == beyond::max || max >= unlimited) return max;
    std::uint64_t headroom = n.headroom.load(std::memory_order_seq_cst);
    return headroom < unlimited - max ? max + headroom : unlimited;
}

// The most that a figure may be; sums of two stay within 64 bits.
constexpr std::uint64_t figure_max = unlimited;

// A node's parent; 0 above the root. What a damaged file says is cut short by depth.
std::uint32_t up(std::uint32_t node) { return node_at(node).parent; }

// Calls visit on each node from `from` up to but without `stop`; false from visit ends it.
template<class Visit>
bool for_levels(std::uint32_t from, std::uint32_t stop, Visit visit) {
    std::uint32_t levels = 0;
    for (std::uint32_t n = from; n != 0 && n != stop && levels <= ALLOT_TENANT_DEPTH_MAX; n = up(n), ++levels)
        if (!visit(node_at(n))) return false;
    return true;
}

std::uint32_t common_ancestor(std::uint32_t a, std::uint32_t b) {
    while (a != b && a != 0 && b != 0) {
        if (node_at(a).depth >= node_at(b).depth)
            a = up(a);
        else
            b = up(b);
    }
    return a == b ? a : 0;
}

bool is_all(op_kind k) { return k == op_kind::reap || k == op_kind::move_all; }
bool names_generation(op_kind k) { return is_all(k) || k == op_kind::pass; }

// --- deciding ---------------------------------------------------------------------------------------------------------------

bool fits(const node &n, std::uint64_t bytes, beyond how_far) {
    std::uint64_t used = now(n.usage);
    std::uint64_t room = room_at(n, how_far);
    return bytes <= figure_max && used <= figure_max && used + bytes <= room && used + bytes <= figure_max;
}

outcome decide_rise(const wish &w, std::uint32_t from, std::uint32_t stop, std::uint64_t bytes) {
    outcome o{verdict::done, 0};
    for_levels(from, stop, [&](const node &n) {
        if (fits(n, bytes, w.how_far)) return true;
        o = {verdict::refused, n.depth};
        return false;
    });
    return o;
}

outcome decide(const wish &w) {
    const account &of = account_at(w.account);
    if (w.node == 0 || node_of(of) != w.node) return {verdict::void_, 0};
    if (names_generation(w.kind) && of.generation.load(std::memory_order_acquire) != w.generation)
        return {verdict::void_, 0};
    std::uint64_t has = now(of.charged);
    std::uint64_t bytes = is_all(w.kind) ? has : w.bytes;
    switch (w.kind) {
    case op_kind::charge: return decide_rise(w, w.node, 0, bytes);
    case op_kind::take: {
        // Of the context's owner: an account may be another's by now, which the context of one that is dead still names.
        const std::uint64_t chunk = chunk_owner(w.context / chunk_contexts).load(std::memory_order_acquire);
        if (high_of(of.owner.load(std::memory_order_relaxed)) != member_tag(low_of(chunk), high_of(chunk)))
            return {verdict::void_, 0};
        auto &c = *reinterpret_cast<const context *>(context_address(w.context));
        // Who sleeps on the lock marks it; that leaves it who holds it.
        constexpr std::uint32_t sleepers = std::uint32_t{1} << 31;
        if ((c.lock.load(std::memory_order_seq_cst) & ~sleepers) != w.lock) return {verdict::void_, 0};
        return {has < bytes ? verdict::void_ : verdict::done, 0};
    }
    case op_kind::uncharge: return {has < bytes ? verdict::void_ : verdict::done, 0};
    case op_kind::reap: return {has == 0 ? verdict::void_ : verdict::done, 0}; // so that one of two reapers has done it
    case op_kind::pass: {
        const account &to = account_at(w.to_account);
        const bool is_heir = node_of(to) == w.node && to.generation.load(std::memory_order_acquire) == w.to_generation;
        // The dead one's own `passed_seen` does not change any more.
        const bool is_first = ((now(of.passed) - of.passed_seen.load(std::memory_order_relaxed)) & handed_on) == 0;
        return {is_heir && is_first && has >= bytes ? verdict::done : verdict::void_, 0};
    }
    case op_kind::move:
    case op_kind::move_all: {
        if (has < bytes || w.to_node == 0 || node_of(account_at(w.to_account)) != w.to_node) return {verdict::void_, 0};
        std::uint32_t common = common_ancestor(w.node, w.to_node);
        if (is_all(w.kind)) return {common == w.to_node ? verdict::done : verdict::void_, 0}; // nothing rises
        return decide_rise(w, w.to_node, common, bytes);
    }
    }
    return {verdict::void_, 0};
}

// --- applying ---------------------------------------------------------------------------------------------------------------

// What a figure was before operation `number`; false: it has been changed by it, or later. Both halves are of one moment:
// none of them changes without the stamp.
bool read_before(const wide &w, std::uint64_t number, std::uint64_t &value, std::uint64_t &stamp) {
    do {
        stamp = w.stamp.load(std::memory_order_acquire);
        value = w.value.load(std::memory_order_acquire);
        if (stamp >= number) return false;
    } while (w.stamp.load(std::memory_order_relaxed) != stamp);
    return true;
}

void raise(std::atomic<std::uint64_t> &peak, std::uint64_t value) {
    std::uint64_t seen = peak.load(std::memory_order_relaxed);
    while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) continue;
}

// `peak` is raised before, so that it is never behind: what the figure is before operation `number` is known, and that it is done.
void change(wide &w, std::int64_t by, std::uint64_t number, std::atomic<std::uint64_t> *peak = nullptr) {
    std::uint64_t value, stamp;
    while (read_before(w, number, value, stamp)) {
        std::uint64_t to = value + static_cast<std::uint64_t>(by);
        if (peak != nullptr) raise(*peak, to);
        if (change_both(w, value, stamp, to, number)) return;
    }
}

void change_levels(std::uint32_t from, std::uint32_t stop, std::int64_t by, std::uint64_t number) {
    for_levels(from, stop, [&](node &n) {
        change(n.usage, by, number, by > 0 ? &n.peak : nullptr);
        return true;
    });
}

void apply(const wish &w, std::uint64_t number) {
    account &of = account_at(w.account);
    std::uint64_t bytes = w.bytes;
    if (is_all(w.kind)) {
        // The account is changed last: as long as it is not, it says how much; once it is, all is done.
        std::uint64_t stamp;
        if (!read_before(of.charged, number, bytes, stamp)) return;
    }
    auto down = -static_cast<std::int64_t>(bytes);
    auto rise = static_cast<std::int64_t>(bytes);
    switch (w.kind) {
    case op_kind::charge:
        change_levels(w.node, 0, rise, number);
        change(of.charged, rise, number, &of.peak);
        return;
    case op_kind::take: change(taking_at(w.context).taken, rise, number); [[fallthrough]];
    case op_kind::uncharge:
    case op_kind::reap:
        change_levels(w.node, 0, down, number);
        change(of.charged, down, number);
        return;
    case op_kind::move:
    case op_kind::move_all: {
        account &to = account_at(w.to_account);
        std::uint32_t common = common_ancestor(w.node, w.to_node);
        change_levels(w.node, common, down, number);
        change_levels(w.to_node, common, rise, number);
        change(to.charged, rise, number, &to.peak);
        change(of.charged, down, number);
        return;
    }
    case op_kind::pass: {
        account &to = account_at(w.to_account);
        change(to.passed, rise, number);
        change(of.passed, static_cast<std::int64_t>(handed_on), number);
        change(to.charged, rise, number, &to.peak);
        change(of.charged, down, number);
        return;
    }
    }
}

// --- helping ----------------------------------------------------------------------------------------------------------------

// acquire: what is looked at after it is not read before.
wish copy_of(const operation &op) {
    return {op.kind.load(std::memory_order_acquire),           op.account.load(std::memory_order_acquire),
            op.to_account.load(std::memory_order_acquire),     op.node.load(std::memory_order_acquire),
            op.to_node.load(std::memory_order_acquire),        op.context.load(std::memory_order_acquire),
            op.lock.load(std::memory_order_acquire),           op.to_generation.load(std::memory_order_acquire),
            beyond{op.beyond.load(std::memory_order_acquire)}, op.generation.load(std::memory_order_acquire),
            op.bytes.load(std::memory_order_acquire)};
}

// A file that was scribbled on must not lead out of it.
bool is_sound(const wish &w) {
    return w.account < nr_accounts && w.to_account < nr_accounts && w.context < nr_contexts && w.node < nr_nodes &&
           w.to_node < nr_nodes;
}

// Whether it is still what `seen` said.
bool is_current(std::uint64_t seen) { return head().current.load(std::memory_order_acquire) == seen; }

void finish(std::uint64_t seen) {
    const std::uint64_t number = number_of(seen);
    operation &op = op_at(index_of(seen));
    const wish w = copy_of(op);
    if (!is_current(seen)) return;
    std::uint64_t decision = op.decision.load(std::memory_order_acquire);
    while (decision >> 8 < number) {
        outcome o = is_sound(w) ? decide(w) : outcome{verdict::void_, 0};
        // seq_cst: what it was decided by (limits, locks) and what others do after changing these are in one order.
        if (op.decision.compare_exchange_strong(decision, decided(number, o), std::memory_order_seq_cst))
            decision = decided(number, o);
    }
    // A later number: the record is used again, so this one was done.
    if (decision >> 8 == number && outcome_in(decision).is == verdict::done) apply(w, number);
    std::uint64_t expected = seen;
    head().current.compare_exchange_strong(expected, seen & ~under_way, std::memory_order_seq_cst);
}

// --- announcing ---------------------------------------------------------------------------------------------------------------

constexpr int patience = 8; // how often to look whether another one is done before doing it

void let_finish(std::uint64_t seen) {
    for (int spin = 0; spin < patience; ++spin) {
        if (head().current.load(std::memory_order_acquire) != seen) return;
        os_pause();
    }
    finish(seen);
}

// Makes op the current one; its number.
std::uint64_t announce(std::uint32_t index) {
    std::uint64_t seen = head().current.load(std::memory_order_acquire);
    for (;;) {
        if ((seen & under_way) != 0) {
            let_finish(seen);
            seen = head().current.load(std::memory_order_acquire);
            continue;
        }
        std::uint64_t mine = current_word(number_of(seen) + 1, index);
        if (head().current.compare_exchange_weak(seen, mine, std::memory_order_seq_cst)) return mine;
    }
}

bool claim(std::uint32_t index, std::uint64_t owner) {
    std::uint64_t nobody = 0;
    return op_at(index).owner.load(std::memory_order_relaxed) == 0 &&
           op_at(index).owner.compare_exchange_strong(nobody, owner, std::memory_order_acquire);
}

[[gnu::noinline]] std::uint32_t claim_another(std::uint32_t from, std::uint64_t owner) {
    for (;;) {
        const std::uint32_t end = used(part::ops);
        for (std::uint32_t tries = 0; tries < end; ++tries)
            if (const std::uint32_t index = (from + tries) % end; claim(index, owner)) return index;
        const std::uint32_t fresh = take_fresh(part::ops);
        if (fresh != 0 && claim(fresh, owner)) return fresh;
        // More threads are amid operations than there are records.
        if (fresh == 0) os_yield();
    }
}

// A record for the time of an operation: nearly always the same one of a thread, whose line stays in its cache. Those of dead
// processes are freed by reapers.
std::uint32_t claim(std::uint64_t owner) {
    const std::uint32_t index = os_tid() % nr_first_ops;
    return claim(index, owner) ? index : claim_another(index + 1, owner);
}

// This thread, amid an operation of about now. A child that was forked in a handler amid an operation goes on with its parent's
// and ends it too: it must not give back the record of the parent's next one.
std::uint64_t owner_now() {
    constexpr std::uint32_t spare = 10; // thread ids have 22 bits
    const auto about_now = static_cast<std::uint32_t>(head().current.load(std::memory_order_relaxed) / (2 * under_way));
    return two_of(this_tag, os_tid() << spare | (about_now & ((1 << spare) - 1)));
}

outcome run(const wish &w) {
    std::uint64_t owner = owner_now();
    const std::uint32_t index = claim(owner);
    operation &op = op_at(index);
    // release: who reads one of these words amid helping the record's last operation sees then that this is not the current one
    // any more.
    op.kind.store(w.kind, std::memory_order_release);
    op.account.store(w.account, std::memory_order_release);
    op.to_account.store(w.to_account, std::memory_order_release);
    op.node.store(w.node, std::memory_order_release);
    op.to_node.store(w.to_node, std::memory_order_release);
    op.generation.store(w.generation, std::memory_order_release);
    op.context.store(w.context, std::memory_order_release);
    op.lock.store(w.lock, std::memory_order_release);
    op.to_generation.store(w.to_generation, std::memory_order_release);
    op.beyond.store(static_cast<std::uint32_t>(w.how_far), std::memory_order_release);
    op.bytes.store(w.bytes, std::memory_order_release);
    const std::uint64_t mine = announce(index);
    while (head().current.load(std::memory_order_acquire) == mine) finish(mine);
    const outcome o = outcome_in(op.decision.load(std::memory_order_acquire));
    op.owner.compare_exchange_strong(owner, 0, std::memory_order_release, std::memory_order_relaxed);
    return o;
}

} // namespace

outcome ledger_charge(std::uint32_t account, std::uint64_t bytes, beyond how_far) {
    return run({.kind = op_kind::charge,
                .account = account,
                .node = node_of(account_at(account)),
                .how_far = how_far,
                .bytes = bytes});
}

outcome ledger_uncharge(std::uint32_t account, std::uint64_t bytes) {
    return run({.kind = op_kind::uncharge, .account = account, .node = node_of(account_at(account)), .bytes = bytes});
}

outcome ledger_take(std::uint32_t account, std::uint32_t context, std::uint32_t lock, std::uint64_t bytes) {
    return run({.kind = op_kind::take,
                .account = account,
                .node = node_of(account_at(account)),
                .context = context,
                .lock = lock,
                .bytes = bytes});
}

outcome ledger_reap(std::uint32_t account, std::uint32_t generation) {
    return run(
        {.kind = op_kind::reap, .account = account, .node = node_of(account_at(account)), .generation = generation});
}

outcome ledger_move(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, beyond how_far) {
    if (from == to) return {verdict::done, 0};
    return run({.kind = op_kind::move,
                .account = from,
                .to_account = to,
                .node = node_of(account_at(from)),
                .to_node = node_of(account_at(to)),
                .how_far = how_far,
                .bytes = bytes});
}

outcome ledger_move_all(std::uint32_t from, std::uint32_t generation, std::uint32_t to) {
    if (from == to) return {verdict::done, 0};
    return run({.kind = op_kind::move_all,
                .account = from,
                .to_account = to,
                .node = node_of(account_at(from)),
                .to_node = node_of(account_at(to)),
                .generation = generation});
}

outcome ledger_pass(std::uint32_t from, std::uint32_t generation, std::uint32_t to, std::uint32_t to_generation,
                    std::uint64_t bytes) {
    const std::uint32_t node = node_of(account_at(from));
    return run({.kind = op_kind::pass,
                .account = from,
                .to_account = to,
                .node = node,
                .to_node = node,
                .to_generation = to_generation,
                .generation = generation,
                .bytes = bytes});
}

void ledger_flush() {
    // A change that changes nothing, not a load: what the caller wrote before is seen by whoever decides a later operation.
    const std::uint64_t seen = head().current.fetch_add(0, std::memory_order_seq_cst);
    if ((seen & under_way) != 0) finish(seen);
}

ledger_moment ledger_now() {
    const std::uint64_t seen = head().current.load(std::memory_order_seq_cst);
    return {number_of(seen), (seen & under_way) == 0};
}

} // namespace allot::shared
