#include "accounting/shared/members.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/proc.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/nodes.hpp"

#include <sys/auxv.h>

#include <cstring>

namespace allot::shared {

constinit std::uint32_t this_member = 0;
constinit std::uint32_t this_tag = 0;

namespace {

// Where this process is. Written when it joins, and by whoever looks first, all the same; relaxed.
constinit std::atomic<std::uint64_t> our_namespace{0}, our_boot{0};

void learn_where_we_are() {
    our_namespace.store(proc_pid_namespace(), std::memory_order_relaxed);
    our_boot.store(boot_number(), std::memory_order_relaxed);
}

// --- members ------------------------------------------------------------------------------------------------------------------

bool has_joined(member_state s) { return s == member_state::running || s == member_state::exited; }

std::uint32_t tag_of(std::uint32_t index, std::uint64_t identity) { return member_tag(index, generation_in(identity)); }

enum class life { seen, believed, dead };

life look_at(const member &m, std::uint64_t identity, std::uint64_t now) {
    const std::uint64_t boot = m.boot.load(std::memory_order_relaxed), ours = our_boot.load(std::memory_order_relaxed);
    if (boot != 0 && ours != 0 && boot != ours) return life::dead;
    // An id of another namespace, or of one that nobody knew, says nothing here.
    const std::uint64_t its_namespace = m.pid_namespace.load(std::memory_order_relaxed);
    if (its_namespace == 0 || its_namespace != our_namespace.load(std::memory_order_relaxed)) return life::believed;
    if (!os_process_exists(pid_in(identity))) return life::dead;
    if (now - m.seen_alive.load(std::memory_order_relaxed) < alive_ns) return life::believed;
    const proc_stat is = proc_stat_of(pid_in(identity));
    const std::uint64_t start = m.start_time.load(std::memory_order_relaxed);
    const std::uint64_t stack = m.start_of_stack.load(std::memory_order_relaxed);
    if (is.state == 0 || start == 0) return life::believed;
    const bool is_another =
        is.start_time != start || (is.start_of_stack > 1 && stack > 1 && is.start_of_stack != stack);
    return has_ended(is) || is_another ? life::dead : life::seen;
}

bool is_alive(std::uint32_t index, std::uint64_t identity) {
    if (!has_joined(member_state_in(identity))) return false;
    if (index == this_member) return true;
    if (our_boot.load(std::memory_order_relaxed) == 0) learn_where_we_are();
    member &m = member_at(index);
    const std::uint64_t now = os_nanoseconds();
    switch (look_at(m, identity, now)) {
    case life::seen: m.seen_alive.store(now, std::memory_order_relaxed); return true;
    case life::believed: return true;
    case life::dead: break;
    }
    // What was read may have been of the record's next process: that is not the one that was asked for, but nor is that dead.
    // A change that changes nothing: what was read before it is not read after.
    return m.identity.fetch_add(0, std::memory_order_acq_rel) != identity;
}

} // namespace

bool member_is_alive(std::uint32_t index) {
    return is_alive(index, member_at(index).identity.load(std::memory_order_acquire));
}

bool is_tag_dead(std::uint32_t tag) {
    const std::uint32_t index = member_of_tag(tag);
    if (index == 0 || index >= used(part::members)) return false;
    const std::uint64_t identity = member_at(index).identity.load(std::memory_order_acquire);
    return tag_of(index, identity) != tag ||
           (!is_alive(index, identity) && member_state_in(identity) != member_state::claimed);
}

std::uint32_t next_member(std::uint32_t from) {
    for (std::uint32_t end = used(part::members); from < end; ++from)
        if (from != 0 && member_is_alive(from)) return from;
    return 0;
}

// --- joining ------------------------------------------------------------------------------------------------------------------

namespace {

bool claim(std::uint32_t index, std::uint64_t from) {
    const std::uint64_t mine =
        identity_word(os_pid(), generation_in(from) + 1, static_cast<std::uint8_t>(member_state::claimed));
    return member_at(index).identity.compare_exchange_strong(from, mine, std::memory_order_acq_rel);
}

// A record that has been used: one that nobody could join with first, then that of who has been dead for longest. Of who died
// between claiming one and joining only the id is known, so that such come last.
std::uint32_t claim_used() {
    for (;;) {
        std::uint32_t best = 0;
        std::uint64_t best_word = 0, best_age = ~std::uint64_t{0};
        for (std::uint32_t i = 1, end = used(part::members); i < end; ++i) {
            const member &m = member_at(i);
            const std::uint64_t word = m.identity.load(std::memory_order_acquire);
            std::uint64_t age = m.born.load(std::memory_order_relaxed);
            switch (member_state_in(word)) {
            case member_state::unused: age = 0; break;
            case member_state::claimed: age = os_process_exists(pid_in(word)) ? best_age : ~std::uint64_t{0} - 1; break;
            case member_state::running:
            case member_state::exited: continue;
            case member_state::died:
            case member_state::ended: break;
            }
            if (age < best_age) best = i, best_word = word, best_age = age;
        }
        if (best == 0 || claim(best, best_word)) return best;
    }
}

std::uint32_t claim_any() {
    while (const std::uint32_t fresh = take_fresh(part::members))
        if (claim(fresh, 0)) return fresh;
    if (const std::uint32_t index = claim_used()) return index;
    reap_dead(root_node);
    return claim_used();
}

void name_executable(member &m) {
    const char *name = proc_executable(m.executable, sizeof m.executable);
    std::size_t fits = 0;
    for (; fits + 1 < sizeof m.name && name[fits] != '\0'; ++fits) m.name[fits] = name[fits];
    m.name[fits] = '\0';
}

// The system's random bytes for this image; a forked child has its parent's, and another id.
std::uint64_t image_number() {
    std::uint64_t number = 0;
    if (const auto *bytes = reinterpret_cast<const void *>(getauxval(AT_RANDOM)))
        std::memcpy(&number, bytes, sizeof number);
    // Programs are given these bytes for secrets of their own: what others can read must not tell them.
    return number * 0x9e3779b97f4a7c15u >> 16;
}

void describe(member &m, std::uint32_t node, std::uint32_t copy_of) {
    const proc_stat self = proc_stat_of(os_pid());
    for (auto *at : {&m.uncounted.now, &m.uncounted.peak, &m.peak, &m.request.value, &m.request.stamp,
                     &m.request_answer, &m.request_done})
        at->store(0, std::memory_order_relaxed);
    m.start_time.store(self.start_time, std::memory_order_relaxed);
    m.start_of_stack.store(self.start_of_stack, std::memory_order_relaxed);
    m.pid_namespace.store(our_namespace.load(std::memory_order_relaxed), std::memory_order_relaxed);
    m.boot.store(our_boot.load(std::memory_order_relaxed), std::memory_order_relaxed);
    m.image.store(image_number(), std::memory_order_relaxed);
    m.born.store(head().births.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    m.parent.store(static_cast<std::uint32_t>(self.parent), std::memory_order_relaxed);
    m.last_fork.store(0, std::memory_order_relaxed);
    m.copy_of.store(copy_of, std::memory_order_relaxed);
    m.copy_of_generation.store(
        copy_of == 0 ? 0 : generation_in(member_at(copy_of).identity.load(std::memory_order_relaxed)),
        std::memory_order_relaxed);
    m.node.store(node, std::memory_order_relaxed);
    m.seen_alive.store(os_nanoseconds(), std::memory_order_relaxed);
    name_executable(m);
}

// A member with this process's id that is another image: an earlier one, before exec, or of a process that had the id before.
// Seen from outside the start of its stack tells that; addresses may be the same, though, where they are not random.
bool is_earlier_image(const member &m, std::uint64_t identity, const member &mine) {
    auto same = [&](auto field) {
        return (m.*field).load(std::memory_order_relaxed) == (mine.*field).load(std::memory_order_relaxed);
    };
    return has_joined(member_state_in(identity)) && pid_in(identity) == os_pid() && same(&member::pid_namespace) &&
           same(&member::boot) && m.pid_namespace.load(std::memory_order_relaxed) != 0 &&
           !(same(&member::start_time) && same(&member::image));
}

bool reap_dead_one(std::uint32_t index, std::uint64_t identity);

} // namespace

bool member_join(std::uint32_t node, std::uint32_t copy_of) {
    learn_where_we_are();
    for (;;) {
        const std::uint32_t index = claim_any();
        if (index == 0) return false;
        member &m = member_at(index);
        std::uint64_t word = m.identity.load(std::memory_order_relaxed);
        if (pid_in(word) != os_pid() || member_state_in(word) != member_state::claimed) continue;
        describe(m, node, copy_of);
        const std::uint64_t joined =
            identity_word(os_pid(), generation_in(word), static_cast<std::uint8_t>(member_state::running));
        // release: who sees it running sees who it is; seq_cst: see node_hold.
        if (!m.identity.compare_exchange_strong(word, joined, std::memory_order_seq_cst)) continue;
        this_member = index;
        this_tag = tag_of(index, joined);
        break;
    }
    // Until its node is held, nobody is hindered from removing it; then the nearest one that is left is its own.
    while (!node_hold(node) && node != root_node) node = node_at(node).parent;
    member &mine = member_at(this_member);
    mine.node.store(node, std::memory_order_relaxed);
    for (std::uint32_t i = 1, end = used(part::members); i < end; ++i) {
        const std::uint64_t identity = member_at(i).identity.load(std::memory_order_acquire);
        if (is_earlier_image(member_at(i), identity, mine)) (void)reap_dead_one(i, identity);
    }
    return true;
}

void member_note_exit() {
    if (this_member == 0) return;
    std::atomic<std::uint64_t> &identity = member_at(this_member).identity;
    std::uint64_t word = identity.load(std::memory_order_relaxed);
    // Nobody else changes it while the process lives.
    identity.store(identity_word(pid_in(word), generation_in(word), static_cast<std::uint8_t>(member_state::exited)),
                   std::memory_order_release);
}

// --- reaping ------------------------------------------------------------------------------------------------------------------

namespace {

// Whether a member is a forked copy of the dead one, or a copy of such a copy, where those between are dead.
bool descends_from(std::uint32_t index, std::uint32_t dead, std::uint64_t identity) {
    constexpr int generations_max = 64; // a damaged file may go round
    for (int i = 0; i < generations_max; ++i) {
        const member &m = member_at(index);
        const std::uint32_t of = m.copy_of.load(std::memory_order_relaxed) % nr_members;
        const std::uint32_t generation = m.copy_of_generation.load(std::memory_order_relaxed);
        if (of == 0) return false;
        if (of == dead) return generation == generation_in(identity);
        const std::uint64_t between = member_at(of).identity.load(std::memory_order_acquire);
        if (generation_in(between) != generation || is_alive(of, between)) return false;
        index = of;
    }
    return false;
}

std::uint64_t inherited_of(const account &a) {
    const std::int64_t left =
        a.inherited.load(std::memory_order_relaxed) - static_cast<std::int64_t>(account_unsettled(a));
    return left > 0 ? static_cast<std::uint64_t>(left) : 0;
}

bool has_copies() {
    for (std::uint32_t i = 1, end = used(part::members); i < end; ++i) {
        const member &m = member_at(i);
        if (m.copy_of.load(std::memory_order_relaxed) != 0 &&
            has_joined(member_state_in(m.identity.load(std::memory_order_acquire))))
            return true;
    }
    return false;
}

// What somebody living has inherited of an account passes to its: to that of the oldest one, since the others' copies are of
// the same bytes.
void hand_on(std::uint32_t index, account &a, std::uint32_t generation, std::uint32_t dead, std::uint64_t identity) {
    if (!has_copies()) return;
    constexpr int attempts = 4; // an heir may die, or free what it has inherited
    const std::uint32_t node = node_of(a);
    for (int i = 0; i < attempts; ++i) {
        std::uint32_t heir = 0, heir_generation = 0;
        std::uint64_t inherited = 0, heir_born = ~std::uint64_t{0};
        for_accounts([&](std::uint32_t at, account &b, std::uint32_t owner) {
            const std::uint64_t born = member_at(owner).born.load(std::memory_order_relaxed);
            const std::uint32_t its_generation = b.generation.load(std::memory_order_acquire);
            if (owner == dead || node_of(b) != node || inherited_of(b) == 0 || born >= heir_born ||
                !member_is_alive(owner) || !descends_from(owner, dead, identity))
                return;
            heir = at, heir_generation = its_generation, heir_born = born, inherited = inherited_of(b);
        });
        const std::uint64_t has = a.charged.value.load(std::memory_order_relaxed);
        if (heir == 0 || has == 0) return;
        if (ledger_pass(index, generation, heir, heir_generation, inherited < has ? inherited : has).is ==
            verdict::done)
            return;
    }
}

// Gives an account of a dead member back. Who does it in the ledger tells how much it was, and who frees the record puts the
// numbers of contexts right.
void reap_account(std::uint32_t index, account &a, std::uint64_t owner, std::uint64_t identity) {
    const std::uint32_t node = low_of(owner), generation = a.generation.load(std::memory_order_acquire);
    // The generation is of this owner only if it still was that after it was read.
    if (a.owner.load(std::memory_order_seq_cst) != owner) return;
    if (node != 0) {
        hand_on(index, a, generation, member_of_tag(high_of(owner)), identity);
        const std::uint64_t had = a.charged.value.load(std::memory_order_relaxed);
        if (had != 0 && ledger_reap(index, generation).is == verdict::done)
            node_at(node).lost.fetch_add(had, std::memory_order_relaxed);
    }
    if (a.owner.compare_exchange_strong(owner, 0, std::memory_order_seq_cst) && node != 0) nodes_recount_contexts(node);
}

template<class Word>
void free_where(part p, Word word, std::uint64_t mask, std::uint64_t owned) {
    for (std::uint32_t i = 0, end = used(p); i < end; ++i) {
        std::atomic<std::uint64_t> &owner = word(i);
        std::uint64_t seen = owner.load(std::memory_order_relaxed);
        if ((seen & mask) == owned) owner.compare_exchange_strong(seen, 0, std::memory_order_seq_cst);
    }
}

void reap_records(std::uint32_t index, std::uint64_t identity) {
    const std::uint32_t tag = tag_of(index, identity);
    // Its operation is done by this, if it had announced one; what it had not is never going to be.
    ledger_flush();
    free_where(
        part::ops, [](std::uint32_t i) -> auto & { return op_at(i).owner; }, ~std::uint64_t{0} << 32, two_of(tag, 0));
    for_accounts([&](std::uint32_t i, account &a, std::uint32_t) {
        const std::uint64_t owner = a.owner.load(std::memory_order_seq_cst);
        if (high_of(owner) == tag) reap_account(i, a, owner, identity);
    });
    free_where(
        part::chunk_owners, [](std::uint32_t i) -> auto & { return chunk_owner(i); }, ~std::uint64_t{0},
        two_of(generation_in(identity), index));
    nodes_repair(tag);
}

bool reap_dead_one(std::uint32_t index, std::uint64_t identity) {
    reap_records(index, identity);
    const bool said_so = member_state_in(identity) == member_state::exited;
    const member_state after = said_so ? member_state::ended : member_state::died;
    return member_at(index).identity.compare_exchange_strong(
        identity, identity_word(pid_in(identity), generation_in(identity), static_cast<std::uint8_t>(after)),
        std::memory_order_acq_rel);
}

} // namespace

void member_note_fork() {
    if (this_member != 0) member_at(this_member).last_fork.store(os_nanoseconds(), std::memory_order_relaxed);
}

namespace {

bool has_copy_on_its_way(const member &m) {
    const std::uint64_t forked = m.last_fork.load(std::memory_order_relaxed);
    return forked != 0 && os_nanoseconds() - forked < copy_ns;
}

} // namespace

bool reap(std::uint32_t index) {
    const std::uint64_t identity = member_at(index).identity.load(std::memory_order_acquire);
    return has_joined(member_state_in(identity)) && !is_alive(index, identity) &&
           !has_copy_on_its_way(member_at(index)) && reap_dead_one(index, identity);
}

std::uint32_t reap_dead(std::uint32_t top) {
    std::uint32_t reaped = 0;
    for (std::uint32_t i = 1, end = used(part::members); i < end; ++i) {
        const std::uint64_t identity = member_at(i).identity.load(std::memory_order_acquire);
        if (!has_joined(member_state_in(identity))) continue;
        bool concerns = top == root_node;
        if (!concerns)
            for_accounts([&](std::uint32_t, const account &a, std::uint32_t member) {
                concerns |= member == i && is_node_below(node_of(a), top);
            });
        if (!concerns) continue;
        constexpr std::uint64_t nap_ns = 1000000;
        while (has_copy_on_its_way(member_at(i)) && !is_alive(i, identity)) os_sleep(nap_ns);
        reaped += reap(i);
    }
    return reaped;
}

} // namespace allot::shared
