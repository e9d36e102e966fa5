#include "accounting/shared/nodes.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/tenant.hpp"
#include "accounting/text.hpp"

#include <cerrno>
#include <cstring>

namespace allot::shared {

namespace {

std::atomic<std::uint32_t> &bucket_of(std::uint32_t parent, const char *name, std::uint64_t length) {
    std::uint32_t hash = (2166136261u ^ parent) * 16777619u; // FNV-1a
    for (std::uint64_t i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(name[i])) * 16777619u;
    return head().name_buckets[(hash ^ hash >> 16) % nr_name_buckets];
}

// Calls visit(index) along a chain until it says true; that index, or 0. Of a damaged chain, no more than all nodes.
template<class Visit>
std::uint32_t find_in_chain(std::uint32_t index, Visit visit) {
    for (std::uint32_t steps = 0; index != 0 && index < nr_nodes && steps < nr_nodes; ++steps) {
        if (visit(index)) return index;
        index = node_at(index).hash_next;
    }
    return 0;
}

std::uint32_t find(std::uint32_t first, std::uint32_t parent, const char *name, std::uint64_t length) {
    return find_in_chain(first, [&](std::uint32_t index) {
        const node &n = node_at(index);
        return n.parent == parent && std::memcmp(n.name, name, length) == 0 && n.name[length] == '\0';
    });
}

// One step of a node's life: to another state, with my name in it, in its next generation. seq_cst: see node_hold.
bool step(node &n, std::uint64_t from, node_state to) {
    const std::uint64_t after = identity_word(this_tag, generation_in(from) + 1, static_cast<std::uint8_t>(to));
    return n.identity.compare_exchange_strong(from, after, std::memory_order_seq_cst);
}

// Everything that a life of it has set and counted. Its usage is the ledger's.
void forget_life(node &n) {
    for (auto *at : {&n.set.min, &n.set.low, &n.headroom, &n.peak, &n.forced, &n.headroom_charges, &n.injected,
                     &n.reclaimed, &n.delayed_us, &n.lost})
        at->store(0, std::memory_order_relaxed);
    for (auto *at : {&n.set.high, &n.set.max}) at->store(unlimited, std::memory_order_relaxed);
    n.on_refusal.store(refusal_policy::inherit, std::memory_order_relaxed);
    for (auto *at : {&n.kills_group, &n.throttle}) at->store(0, std::memory_order_relaxed);
    for (auto &count : n.events_local) count.store(0, std::memory_order_relaxed);
    for (auto &count : n.events) count.store(0, std::memory_order_relaxed);
    n.nr_contexts.store(0, std::memory_order_relaxed);
    n.descendants_max.store(no_descendants_max, std::memory_order_relaxed);
}

bool is_linked(std::uint32_t index) {
    const node &n = node_at(index);
    std::uint64_t length = 0;
    while (length < ALLOT_TENANT_NAME_MAX && n.name[length] != '\0') ++length;
    return find_in_chain(bucket_of(n.parent, n.name, length).load(std::memory_order_acquire),
                         [&](std::uint32_t at) { return at == index; }) != 0;
}

// A record for a child of `parent`. Fresh ones first; then those whose claimer died before it had linked them, which no
// chain leads to.
std::uint32_t claim(std::uint32_t parent) {
    while (const std::uint32_t fresh = take_fresh(part::nodes))
        if (step(node_at(fresh), 0, node_state::claimed)) return fresh;
    for (std::uint32_t index = parent + 1, end = used(part::nodes); index < end; ++index) {
        node &n = node_at(index);
        const std::uint64_t seen = n.identity.load(std::memory_order_acquire);
        const bool is_left =
            node_state_in(seen) == node_state::claimed && is_tag_dead(pid_in(seen)) && !is_linked(index);
        if ((is_left || node_state_in(seen) == node_state::unused) && step(n, seen, node_state::claimed)) return index;
    }
    return 0;
}

bool may_have_another(std::uint32_t parent) {
    for (std::uint32_t at = parent; at != 0; at = node_at(at).parent) {
        const std::uint32_t max = node_at(at).descendants_max.load(std::memory_order_relaxed);
        if (max == no_descendants_max) continue;
        std::uint32_t descendants = 0;
        for (std::uint32_t i = next_living(at + 1); i != 0; i = next_living(i + 1)) descendants += is_node_below(i, at);
        if (descendants >= max) return false;
    }
    return true;
}

// A node that has just become living, below a parent that may have been removed meanwhile.
int settle_below_parent(std::uint32_t index) {
    node &n = node_at(index);
    if (node_hold(n.parent)) return 0;
    const std::uint64_t seen = n.identity.load(std::memory_order_relaxed);
    if (node_state_in(seen) == node_state::living) (void)step(n, seen, node_state::removed);
    return -ENOENT;
}

// Of a node that is linked: makes it living, whatever it is.
node_or_error bring_to_life(std::uint32_t index) {
    constexpr int patience = 100;
    constexpr std::uint64_t moment_ns = 100000;
    node &n = node_at(index);
    for (int i = 0; i < patience;) {
        std::uint64_t seen = n.identity.load(std::memory_order_seq_cst);
        switch (node_state_in(seen)) {
        case node_state::living: return {index, 0, false};
        case node_state::claimed:
            // Its maker was about to.
            if (step(n, seen, node_state::living))
                if (int error = settle_below_parent(index)) return {0, error, false};
            continue;
        case node_state::removing: (void)step(n, seen, node_state::living); continue;
        case node_state::reviving:
            // Who is stopped amid forgetting settings would go on with that after others had set new ones.
            if (!is_tag_dead(pid_in(seen))) {
                os_sleep(moment_ns);
                ++i;
                continue;
            }
            break;
        case node_state::removed: break;
        case node_state::unused: return {0, -ENOENT, false};
        }
        if (!may_have_another(n.parent)) return {0, -EAGAIN, false};
        if (!step(n, seen, node_state::reviving)) continue;
        forget_life(n);
        if (!step(n, n.identity.load(std::memory_order_relaxed), node_state::living)) note_anomaly();
        const int error = settle_below_parent(index);
        return {error == 0 ? index : 0, error, true};
    }
    return {0, -EAGAIN, false};
}

void write(node &n, std::uint32_t parent, const char *name, std::uint64_t length) {
    forget_life(n);
    n.parent = parent;
    n.depth = parent == 0 ? 0 : node_at(parent).depth + 1;
    std::memset(n.name, 0, sizeof n.name);
    std::memcpy(n.name, name, length);
}

// The next name of a path; false at its end. "//" and a slash at the end are accepted.
bool next_name(const char *&path, const char *&name, std::uint64_t &length) {
    while (*path == '/') ++path;
    name = path;
    while (*path != '\0' && *path != '/') ++path;
    length = static_cast<std::uint64_t>(path - name);
    return length != 0;
}

template<class Step>
node_or_error walk(const char *path, Step one) {
    if (path == nullptr || *path != '/') return {0, -EINVAL, false};
    node_or_error at{root_node, 0, false};
    const char *name;
    std::uint64_t length;
    while (at.node != 0 && next_name(path, name, length)) at = one(at.node, name, length);
    return at;
}

// What keeps a node: living children, processes of its own, accounts. seq_cst: see node_hold.
bool is_needed(std::uint32_t node) {
    for (std::uint32_t i = node + 1, end = used(part::nodes); i < end; ++i) {
        const node_state state = node_state_in(node_at(i).identity.load(std::memory_order_seq_cst));
        const bool may_live =
            state == node_state::living || state == node_state::removing || state == node_state::reviving;
        if (may_live && node_at(i).parent == node) return true;
    }
    for (std::uint32_t i = next_member(1); i != 0; i = next_member(i + 1))
        if (member_at(i).node.load(std::memory_order_relaxed) == node) return true;
    bool is_charged = false;
    for_accounts([&](std::uint32_t, const account &a, std::uint32_t) { is_charged |= node_of(a) == node; });
    return is_charged;
}

} // namespace

bool make_root() {
    if (take_fresh(part::nodes) != root_node) return false;
    node &n = node_at(root_node);
    write(n, 0, "", 0);
    return step(n, 0, node_state::living);
}

node_or_error node_child(std::uint32_t parent, const char *name, std::uint64_t length) {
    if (!is_tenant_name(name, length)) return {0, -ENOENT, false};
    const std::uint32_t index =
        find(bucket_of(parent, name, length).load(std::memory_order_acquire), parent, name, length);
    const bool is_there = index != 0 && is_living(node_at(index));
    return {is_there ? index : 0, is_there ? 0 : -ENOENT, false};
}

node_or_error node_make_child(std::uint32_t parent, const char *name, std::uint64_t length) {
    if (length > ALLOT_TENANT_NAME_MAX) return {0, -ENAMETOOLONG, false};
    if (!is_tenant_name(name, length)) return {0, -EINVAL, false};
    if (node_at(parent).depth >= ALLOT_TENANT_DEPTH_MAX) return {0, -ENOSPC, false};
    std::atomic<std::uint32_t> &bucket = bucket_of(parent, name, length);
    std::uint32_t mine = 0;
    for (;;) {
        // acquire, here and where the exchange fails: who is found has been written.
        std::uint32_t first = bucket.load(std::memory_order_acquire);
        if (const std::uint32_t index = find(first, parent, name, length)) {
            if (mine != 0)
                (void)step(node_at(mine), node_at(mine).identity.load(std::memory_order_relaxed), node_state::unused);
            return bring_to_life(index);
        }
        if (mine == 0) {
            if (!may_have_another(parent)) return {0, -EAGAIN, false};
            mine = claim(parent);
            if (mine == 0) return {0, -ENOMEM, false};
            write(node_at(mine), parent, name, length);
        }
        node &n = node_at(mine);
        n.hash_next = first;
        if (!bucket.compare_exchange_strong(first, mine, std::memory_order_seq_cst)) continue;
        // Somebody who has found it may have made it living, and even removed it again.
        node_or_error result = bring_to_life(mine);
        result.is_new = true;
        return result;
    }
}

node_or_error node_open(const char *path) { return walk(path, node_child); }
node_or_error node_make(const char *path) { return walk(path, node_make_child); }

// Who needs a node writes that down first and looks at its state then; who removes it changes the state first and looks then
// whether it is needed: one of the two sees the other. A remover may stop for ever between its two changes, so that state is
// not waited for but ended; then the remover's second change fails.
bool node_hold(std::uint32_t index) {
    node &n = node_at(index);
    for (;;) {
        const std::uint64_t seen = n.identity.load(std::memory_order_seq_cst);
        const node_state state = node_state_in(seen);
        if (state == node_state::living) return true;
        if (state != node_state::removing) return false;
        (void)step(n, seen, node_state::living);
    }
}

int node_remove(std::uint32_t index) {
    if (index <= root_node) return -EBUSY;
    reap_dead(index);
    if (is_needed(index)) return -EBUSY;
    node &n = node_at(index);
    std::uint64_t seen = n.identity.load(std::memory_order_acquire);
    if (node_state_in(seen) != node_state::living) return -ENOENT;
    if (!step(n, seen, node_state::removing)) return -EBUSY;
    seen = identity_word(this_tag, generation_in(seen) + 1, static_cast<std::uint8_t>(node_state::removing));
    const bool is_needed_now = is_needed(index);
    return step(n, seen, is_needed_now ? node_state::living : node_state::removed) && !is_needed_now ? 0 : -EBUSY;
}

void nodes_repair(std::uint32_t tag) {
    for (std::uint32_t index = root_node + 1, end = used(part::nodes); index < end; ++index) {
        node &n = node_at(index);
        const std::uint64_t seen = n.identity.load(std::memory_order_acquire);
        if (pid_in(seen) != tag) continue;
        switch (node_state_in(seen)) {
        case node_state::claimed:
            if (is_linked(index))
                (void)bring_to_life(index);
            else
                (void)step(n, seen, node_state::unused);
            break;
        case node_state::removing: (void)step(n, seen, node_state::living); break;
        case node_state::reviving: (void)step(n, seen, node_state::removed); break;
        default: break;
        }
    }
}

void nodes_recount_contexts(std::uint32_t index) {
    for (std::uint32_t levels = 0; index != 0 && levels <= ALLOT_TENANT_DEPTH_MAX; ++levels) {
        node &n = node_at(index);
        std::uint32_t before = n.nr_contexts.load(std::memory_order_relaxed), counted = 0;
        for_accounts([&](std::uint32_t, const account &a, std::uint32_t) {
            if (is_node_below(node_of(a), index)) counted += a.nr_contexts.load(std::memory_order_relaxed);
        });
        // Who has counted one of his own meanwhile is not overwritten.
        n.nr_contexts.compare_exchange_strong(before, counted, std::memory_order_relaxed);
        index = n.parent;
    }
}

std::uint32_t next_living(std::uint32_t from) {
    for (std::uint32_t end = used(part::nodes); from < end; ++from)
        if (from != 0 && is_living(node_at(from))) return from;
    return 0;
}

std::uint64_t write_node_path(std::uint32_t index, char *buffer, std::uint64_t size) {
    const char *names[ALLOT_TENANT_DEPTH_MAX + 1];
    std::uint32_t depth = 0;
    for (std::uint32_t at = index; at != 0 && at != root_node && depth <= ALLOT_TENANT_DEPTH_MAX;
         at = node_at(at).parent)
        names[depth++] = node_at(at).name;
    return write_names(names, depth, ALLOT_TENANT_NAME_MAX, buffer, size);
}

void node_count_event(std::uint32_t index, allot_event event) {
    node_at(index).events_local[event].fetch_add(1, std::memory_order_relaxed);
    for (std::uint32_t at = index, levels = 0; at != 0 && levels <= ALLOT_TENANT_DEPTH_MAX; ++levels) {
        node &n = node_at(at);
        n.events[event].fetch_add(1, std::memory_order_relaxed);
        at = n.parent;
    }
}

} // namespace allot::shared
