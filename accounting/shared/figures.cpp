#include "accounting/shared/figures.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/proc.hpp"
#include "accounting/base/report.hpp"
#include "accounting/context_table.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/tables.hpp"
#include "accounting/text.hpp"

#include <cstring>

namespace allot::shared {

namespace {

std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

std::uint64_t read(const std::atomic<std::uint64_t> &word) { return word.load(std::memory_order_relaxed); }
std::int64_t read(const std::atomic<std::int64_t> &word) { return word.load(std::memory_order_relaxed); }

// What damaged words add up to may be anything; it wraps, and stays a number.
void add(std::int64_t &to, std::int64_t value) {
    to = static_cast<std::int64_t>(static_cast<std::uint64_t>(to) + static_cast<std::uint64_t>(value));
}

const context_record &context_at(std::uint32_t index) {
    return *reinterpret_cast<const context_record *>(context_address(index)); // NOLINT(performance-no-int-to-ptr)
}

// --- contexts ---------------------------------------------------------------------------------------------------------------

// visit(context, its taking, account) for each context in use of an account that is its member's.
template<class Visit>
void for_contexts(Visit visit) {
    const std::uint32_t chunks = least(used(part::chunk_owners), nr_chunks);
    const std::uint32_t accounts = least(used(part::accounts), nr_accounts);
    for (std::uint32_t chunk = 1; chunk < chunks; ++chunk) {
        const std::uint32_t owner = low_of(chunk_owner(chunk).load(std::memory_order_acquire));
        if (owner == 0) continue;
        for (std::uint32_t index = chunk * chunk_contexts; index < (chunk + 1) * chunk_contexts; ++index) {
            const context_record &c = context_at(index);
            const taking &taken = taking_at(index);
            const std::uint32_t account = taken.account.load(std::memory_order_relaxed);
            if (!has_flag(c.hot, context_in_use) || account == 0 || account >= accounts) continue;
            const std::uint64_t of = account_at(account).owner.load(std::memory_order_acquire);
            if (of != 0 && member_of_tag(high_of(of)) == owner) visit(c, taken, account);
        }
    }
}

// Charged for it and not yet said to be somebody's.
std::int64_t held_by(const context_record &c, const taking &t) {
    // late before net: see context_table.hpp.
    std::int64_t held = c.hot.stock.load(std::memory_order_relaxed);
    add(held, c.cold.late.load(std::memory_order_acquire));
    const std::uint64_t unseen = read(t.taken.value) - read(t.seen);
    add(held, -static_cast<std::int64_t>(unseen));
    return held;
}

std::int64_t unused_of(const context_record &c, const taking &t) {
    std::int64_t unused = held_by(c, t);
    add(unused, -net_bytes(c.hot.net.load(std::memory_order_relaxed)));
    return unused < 0 ? 0 : unused;
}

// --- processes --------------------------------------------------------------------------------------------------------------

bool may_live(member_state state) { return state == member_state::running || state == member_state::exited; }

process_condition condition_of(std::uint32_t index) {
    const std::uint64_t identity = read(member_at(index).identity);
    const member_state state = member_state_in(identity);
    switch (state) {
    case member_state::running:
    case member_state::exited:
        if (member_is_alive(index))
            return is_stopped(proc_stat_of(pid_in(identity))) ? process_condition::stopped : process_condition::running;
        return state == member_state::exited ? process_condition::exited : process_condition::ended;
    case member_state::ended: return process_condition::exited;
    case member_state::died: return process_condition::ended;
    case member_state::unused:
    case member_state::claimed: break;
    }
    return process_condition::none;
}

// --- nodes ------------------------------------------------------------------------------------------------------------------

void read_own(std::uint32_t index, node_figures &out) {
    const node &n = node_at(index);
    out = {};
    out.is_living = is_living(n);
    out.parent = n.parent < index ? n.parent : 0;
    out.depth = n.depth;
    out.usage = read(n.usage.value);
    out.peak = read(n.peak);
    out.min = read(n.set.min);
    out.low = read(n.set.low);
    out.high = read(n.set.high);
    out.max = read(n.set.max);
    out.headroom = read(n.headroom);
    out.descendants_max = n.descendants_max.load(std::memory_order_relaxed);
    out.on_refusal = static_cast<std::uint8_t>(n.on_refusal.load(std::memory_order_relaxed));
    out.kills_group = n.kills_group.load(std::memory_order_relaxed);
    out.throttle = n.throttle.load(std::memory_order_relaxed);
    for (std::uint32_t e = 0; e < allot_nr_events; ++e) {
        out.events[e] = read(n.events[e]);
        out.events_local[e] = read(n.events_local[e]);
    }
    out.stats[allot_stat_forced] = static_cast<std::int64_t>(read(n.forced));
    out.stats[allot_stat_headroom] = static_cast<std::int64_t>(read(n.headroom_charges));
    out.stats[allot_stat_injected] = static_cast<std::int64_t>(read(n.injected));
    out.stats[allot_stat_reclaimed] = static_cast<std::int64_t>(read(n.reclaimed));
    out.stats[allot_stat_throttled_usec] = static_cast<std::int64_t>(read(n.delayed_us));
    if (index == root_node) out.stats[allot_stat_anomalies] = static_cast<std::int64_t>(read(head().anomalies));
}

void add_account(const account &a, node_figures &to) {
    to.charged += read(a.charged.value);
    add(to.stats[allot_stat_large], read(a.lines.large));
    add(to.stats[allot_stat_external], read(a.lines.external));
    add(to.stats[allot_stat_slab], read(a.lines.settled_bytes));
    add(to.stats[allot_stat_objects], read(a.lines.settled_objects));
    add(to.stats[allot_stat_throttled], a.nr_delayed.load(std::memory_order_relaxed));
}

void add_context(const context_record &c, const taking &t, std::uint32_t owner, node_figures &to) {
    const std::int64_t unused = unused_of(c, t);
    const net_word net = c.hot.net.load(std::memory_order_relaxed);
    add(to.stats[allot_stat_slab], read(c.cold.settled_bytes));
    add(to.stats[allot_stat_slab], net_bytes(net));
    add(to.stats[allot_stat_objects], read(c.cold.settled_objects));
    add(to.stats[allot_stat_objects], net_objects(net));
    add(to.stats[allot_stat_stock], unused);
    to.nr_threads += c.cold.thread != 0;
    if (unused != 0 && c.hot.lock.load(std::memory_order_relaxed) != 0 &&
        is_stopped(proc_stat_of(pid_in(read(member_at(owner).identity)))))
        add(to.stats[allot_stat_unavailable], unused);
}

void add_below(const node_figures &from, node_figures &to) {
    to.charged += from.charged;
    to.nr_processes += from.nr_processes;
    to.nr_threads += from.nr_threads;
    to.nr_descendants += from.nr_descendants + (from.is_living ? 1 : 0);
    for (std::uint32_t s = 0; s < allot_nr_stats; ++s) add(to.stats[s], from.stats[s]);
}

// A context may free what another one allocated, so parts of a sum may be negative; and the sum, while others work.
void conclude(node_figures &f) {
    for (std::int64_t &value : f.stats)
        if (value < 0) value = 0;
    const auto stock = static_cast<std::uint64_t>(f.stats[allot_stat_stock]);
    f.current = f.usage > stock ? f.usage - stock : 0;
}

void read_before_conclusion(node_figures *all, std::uint32_t end) {
    all[0] = {};
    for (std::uint32_t index = 1; index < end; ++index) read_own(index, all[index]);
    for_accounts([&](std::uint32_t, const account &a, std::uint32_t) {
        const std::uint32_t node = node_of(a);
        if (node < end) add_account(a, all[node]);
    });
    for_contexts([&](const context_record &c, const taking &t, std::uint32_t account) {
        const std::uint64_t owner = account_at(account).owner.load(std::memory_order_acquire);
        if (low_of(owner) < end) add_context(c, t, member_of_tag(high_of(owner)), all[low_of(owner)]);
    });
    for (std::uint32_t index = 1; index < members_end(); ++index) {
        const std::uint32_t node = member_at(index).node.load(std::memory_order_relaxed);
        if (node >= end || !may_live(member_state_in(read(member_at(index).identity)))) continue;
        if (member_is_alive(index)) ++all[node].nr_processes;
    }
    for (std::uint32_t index = end; index-- > 1;)
        if (all[index].parent != 0) add_below(all[index], all[all[index].parent]);
}

} // namespace

bool is_known_outside(std::uint32_t stat) {
    return stat != allot_stat_requested && stat != allot_stat_cache && stat != allot_stat_overhead &&
           stat != allot_stat_resident;
}

std::uint32_t nodes_end() { return least(used(part::nodes), nr_nodes); }
std::uint32_t members_end() { return least(used(part::members), nr_members); }

void read_node_figures(node_figures *all, std::uint32_t end) {
    read_before_conclusion(all, end);
    for (std::uint32_t index = 1; index < end; ++index) conclude(all[index]);
}

void read_process_figures(process_figures *all, std::uint32_t end) {
    for (std::uint32_t index = 0; index < end; ++index) {
        const member &m = member_at(index);
        process_figures &p = all[index];
        p = {};
        if (index == 0) continue;
        p.condition = condition_of(index);
        p.pid = pid_in(read(m.identity));
        p.node = m.node.load(std::memory_order_relaxed);
        p.born = read(m.born);
        p.peak = read(m.peak);
        p.uncounted = read(m.uncounted.now);
        p.uncounted_peak = read(m.uncounted.peak);
    }
    for_accounts([&](std::uint32_t, const account &a, std::uint32_t member) {
        if (member >= end) return;
        all[member].charged += read(a.charged.value);
        if (all[member].peak < read(a.peak)) all[member].peak = read(a.peak);
    });
    for (std::uint32_t index = 1; index < end; ++index)
        if (all[index].peak < all[index].charged) all[index].peak = all[index].charged;
}

// --- the recount ------------------------------------------------------------------------------------------------------------

namespace {

class differences {
public:
    explicit differences(figures_check &to) : to_(to) {}
    // "/a: usage is 5, and its accounts have 3"
    void node(std::uint32_t index, const char *what, std::uint64_t is, const char *and_what, std::uint64_t other) {
        line_writer line;
        if (begins(index, line)) end(line.text(what).text(" is ").number(is).text(and_what).number(other));
    }
    void node(std::uint32_t index, const char *what, const char *how, std::uint64_t much) {
        line_writer line;
        if (begins(index, line)) end(line.text(what).text(how).number(much));
    }

private:
    // The first one alone is told.
    bool begins(std::uint32_t index, line_writer &line) {
        if (++to_.differences != 1) return false;
        char path[160];
        (void)write_node_path(index, path, sizeof path);
        line.name(path).text(": ");
        return true;
    }
    void end(const line_writer &line) { copy_text(line.c_str(), to_.first, sizeof to_.first); }

    figures_check &to_;
};

// Of each account, what its lines and its contexts say was charged; memory of the system's, since it is large.
class books {
public:
    books() : bytes_(std::uint64_t{nr_accounts} * sizeof(std::int64_t)), address_(os_map(bytes_)) {}
    ~books() {
        if (address_ != 0) os_unmap(address_, bytes_);
    }
    books(const books &) = delete;
    books &operator=(const books &) = delete;
    bool are_there() const { return address_ != 0; }
    void read_all() {
        std::memset(&of(0), 0, bytes_);
        for_accounts([&](std::uint32_t index, const account &a, std::uint32_t) {
            add(of(index), read(a.lines.large));
            add(of(index), read(a.lines.external));
            add(of(index), read(a.lines.settled_bytes));
        });
        for_contexts([&](const context_record &c, const taking &t, std::uint32_t account) {
            add(of(account), held_by(c, t));
            add(of(account), read(c.cold.settled_bytes));
        });
    }
    std::int64_t &of(std::uint32_t account) {
        return reinterpret_cast<std::int64_t *>(address_)[account]; // NOLINT(performance-no-int-to-ptr)
    }

private:
    std::uint64_t bytes_;
    std::uintptr_t address_;
};

void compare_node(std::uint32_t index, const node_figures &f, differences &found) {
    if (f.usage != f.charged) found.node(index, "usage", f.usage, ", and its accounts have ", f.charged);
    const struct {
        const char *name;
        std::uint64_t value;
    } figures[] = {
        {"usage", f.usage},      {"peak", f.peak},      {"memory.min", f.min},          {"memory.low", f.low},
        {"memory.high", f.high}, {"memory.max", f.max}, {"memory.headroom", f.headroom}};
    for (const auto &figure : figures)
        if (figure.value > unlimited) found.node(index, figure.name, figure.value, ", which is more than ", unlimited);
    for (std::uint32_t i = 0; i < allot_nr_stats; ++i)
        if (f.stats[i] < 0)
            found.node(index, stat_table[i].name, " is below zero by ",
                       std::uint64_t{0} - static_cast<std::uint64_t>(f.stats[i]));
}

void compare_accounts(std::uint32_t top, books &of_accounts, differences &found) {
    for_accounts([&](std::uint32_t index, const account &a, std::uint32_t) {
        const std::uint32_t node = node_of(a);
        if (node >= nodes_end() || !is_node_below(node, top)) return;
        const std::uint64_t charged = read(a.charged.value);
        const std::int64_t booked = of_accounts.of(index);
        if (booked > 0 && static_cast<std::uint64_t>(booked) > charged)
            found.node(node, "what a process is charged for", charged, ", and it says ",
                       static_cast<std::uint64_t>(booked));
    });
}

} // namespace

figures_check check_figures(std::uint32_t top, node_figures *room, std::uint32_t attempts) {
    constexpr std::uint64_t between_ns = 2000000;
    figures_check result{};
    books of_accounts;
    if (!of_accounts.are_there()) return result;
    const std::uint32_t end = nodes_end();
    for (std::uint32_t i = 0; i < attempts; ++i) {
        if (i != 0) os_sleep(between_ns);
        figures_check now{};
        differences found(now);
        const ledger_moment before = ledger_now();
        read_before_conclusion(room, end);
        of_accounts.read_all();
        compare_accounts(top, of_accounts, found);
        for (std::uint32_t index = 1; index < end; ++index) {
            if (!room[index].is_living || !is_node_below(index, top)) continue;
            ++now.nodes;
            compare_node(index, room[index], found);
        }
        now.was_quiet = before.is_quiet && before == ledger_now();
        // One that was not quiet has nothing to say, and does not take the place of one that had.
        if (now.was_quiet) result = now;
        if (now.was_quiet && now.differences == 0) break;
    }
    return result;
}

} // namespace allot::shared
