#include "accounting/registrations.hpp"

#include "accounting/base/fork_mark.hpp"
#include "accounting/base/os.hpp"
#include "accounting/base/slot_pool.hpp"
#include "accounting/thread_charges.hpp"

#include <cerrno>

namespace allot {

namespace {

// A tenant that has registrations, or a descendant that has.
struct node {
    std::uint32_t tenant, generation;
    std::uint32_t parent, first_child, next, previous;
    std::uint32_t hash_next;
    std::uint32_t first[nr_registration_lists];
    std::uint32_t free_next;
};

// An id is a slot and its generation, which is short: so a slot rests until many others are free too, and an id comes again
// after two million registrations at the earliest.
constexpr std::uint32_t slot_bits = 20;
constexpr std::uint32_t generation_mask = (std::uint32_t{1} << (31 - slot_bits)) - 1;
constexpr std::uint32_t resting_slots = 1024;
constexpr std::uint32_t nr_buckets = 1024;

// All of it under the registry lock.
constinit slot_pool<registration, std::uint32_t{1} << slot_bits, resting_slots> slots;
constinit slot_pool<node, std::uint32_t{1} << slot_bits> nodes;
constinit std::uint32_t buckets[nr_buckets] = {};
// Changed under the lock too, but so that it is whole at every moment: a child of a fork finds it as it is then. release:
// a call is filled in before it is seen.
constinit std::atomic<registration_call *> calls{nullptr};

// By list; written under the lock, read by anyone, relaxed: see any_registered.
constinit std::atomic<std::uint32_t> nr_registered[nr_registration_lists] = {};
// Raised whenever a call ends; who waits for calls sleeps on it. release and acquire: what the call did comes before.
constinit std::atomic<std::uint32_t> ended_calls{0};
// Threads that sleep on it; seq_cst against the word, so that no end passes a sleeper by.
constinit std::atomic<std::uint32_t> waiters{0};
constexpr std::uint32_t look_again_ms = 100;

constexpr registration_list list_of(registration_kind kind) {
    return kind == registration_kind::shrinker ? registration_list::shrinkers : registration_list::listeners;
}
std::uint32_t &first_of(node &n, registration_list list) { return n.first[static_cast<std::uint32_t>(list)]; }
std::atomic<std::uint32_t> &number_of(registration_list list) {
    return nr_registered[static_cast<std::uint32_t>(list)];
}

// --- nodes ------------------------------------------------------------------------------------------------------------

std::uint32_t node_of(const tenant &t) {
    std::uint32_t generation = t.generation.load(std::memory_order_relaxed);
    for (std::uint32_t n = buckets[t.index % nr_buckets]; n != 0; n = nodes.at(n).hash_next)
        if (nodes.at(n).tenant == t.index && nodes.at(n).generation == generation) return n;
    return 0;
}

std::uint32_t make_node(const tenant &t, std::uint32_t parent) {
    std::uint32_t index = nodes.make();
    if (index == 0) return 0;
    node &n = nodes.at(index);
    std::uint32_t &bucket = buckets[t.index % nr_buckets];
    n = {t.index, t.generation.load(std::memory_order_relaxed), parent, 0, 0, 0, bucket, {}, 0};
    bucket = index;
    if (parent == 0) return index;
    std::uint32_t &first = nodes.at(parent).first_child;
    n.next = first;
    if (first != 0) nodes.at(first).previous = index;
    first = index;
    return index;
}

void free_node_if_unused(std::uint32_t index) {
    while (index != 0) {
        node &n = nodes.at(index);
        if (n.first_child != 0 || n.first[0] != 0 || n.first[1] != 0) return;
        if (n.next != 0) nodes.at(n.next).previous = n.previous;
        if (n.previous != 0)
            nodes.at(n.previous).next = n.next;
        else if (n.parent != 0)
            nodes.at(n.parent).first_child = n.next;
        std::uint32_t *link = &buckets[n.tenant % nr_buckets];
        while (*link != index) link = &nodes.at(*link).hash_next;
        *link = n.hash_next;
        std::uint32_t parent = n.parent;
        nodes.put(index);
        index = parent;
    }
}

// The node of t, with those of its ancestors; 0: no memory, and nothing is left of it.
std::uint32_t node_for(const tenant &t) {
    const tenant *missing[tenant_depth_max + 1];
    std::uint32_t nr_missing = 0, at = 0;
    for (const tenant *a = &t; a != nullptr; a = parent_of(*a)) {
        at = node_of(*a);
        if (at != 0) break;
        missing[nr_missing++] = a;
    }
    while (nr_missing-- > 0) {
        std::uint32_t child = make_node(*missing[nr_missing], at);
        if (child == 0) {
            free_node_if_unused(at);
            return 0;
        }
        at = child;
    }
    return at;
}

// --- lists ------------------------------------------------------------------------------------------------------------

// At the front: a reclaim that goes through the list misses what comes while it does.
void link(registration &r, std::uint32_t to, registration_list list) {
    std::uint32_t &first = first_of(nodes.at(to), list);
    r.node = to;
    r.previous = 0;
    r.next = first;
    if (first != 0) slots.at(first).previous = r.index;
    first = r.index;
}

void unlink(registration &r, registration_list list) {
    if (r.node == 0) return;
    if (r.next != 0) slots.at(r.next).previous = r.previous;
    if (r.previous != 0)
        slots.at(r.previous).next = r.next;
    else
        first_of(nodes.at(r.node), list) = r.next;
    std::uint32_t was = r.node;
    r.node = 0;
    free_node_if_unused(was);
}

// A program that closes all descriptors closes ours too, and the number may be someone else's by now.
void close_descriptor(registration &r) {
    if (registration_has_its_descriptor(r)) os_close(r.descriptor);
    r.descriptor = -1;
}

void free_slot(registration &r) {
    registration_kind kind = r.kind.load(std::memory_order_relaxed);
    r.kind.store(registration_kind::none, std::memory_order_release);
    if (kind != registration_kind::none) unlink(r, list_of(kind));
    close_descriptor(r);
    r.generation = (r.generation + 1) & generation_mask;
    slots.put(r.index);
}

// The next node of the subtree of `top` in pre-order, or 0.
std::uint32_t next_node(std::uint32_t at, std::uint32_t top) {
    if (nodes.at(at).first_child != 0) return nodes.at(at).first_child;
    while (at != top) {
        if (nodes.at(at).next != 0) return nodes.at(at).next;
        at = nodes.at(at).parent;
    }
    return 0;
}

registration *living(std::uint32_t index) {
    while (index != 0 && slots.at(index).has_ended) index = slots.at(index).next;
    return index == 0 ? nullptr : &slots.at(index);
}

registration *first_shrinker_from(std::uint32_t at, std::uint32_t top) {
    for (; at != 0; at = next_node(at, top))
        if (registration *r = living(first_of(nodes.at(at), registration_list::shrinkers))) return r;
    return nullptr;
}

registration *first_listener_up_from(std::uint32_t at) {
    for (; at != 0; at = nodes.at(at).parent)
        if (registration *r = living(first_of(nodes.at(at), registration_list::listeners))) return r;
    return nullptr;
}

} // namespace

bool registration_has_its_descriptor(const registration &r) {
    if (r.descriptor < 0) return false;
    os_file_identity now = os_identity_of(r.descriptor);
    return now.known && now.signal == r.identity.signal && now.device == r.identity.device &&
           now.inode == r.identity.inode;
}

bool any_registered(registration_list list) { return number_of(list).load(std::memory_order_relaxed) != 0; }

// --- beginning and ending ---------------------------------------------------------------------------------------------

registration *registration_new() {
    std::uint32_t index = slots.make();
    if (index == 0) return nullptr;
    registration &r = slots.at(index);
    std::uint32_t generation = r.generation;
    static_assert(static_cast<std::uint32_t>(registration_kind::none) == 0);
    __builtin_memset(static_cast<void *>(&r), 0, sizeof r);
    r.generation = generation;
    r.index = index;
    r.descriptor = r.users_descriptor = -1;
    return &r;
}

int registration_begin(registration &r, tenant &t, registration_kind kind) {
    std::uint32_t to = node_for(t);
    if (to == 0) {
        r.descriptor = -1; // the caller's, who closes it
        free_slot(r);
        return -ENOMEM;
    }
    r.tenant = handle_to(t);
    link(r, to, list_of(kind));
    r.kind.store(kind, std::memory_order_release);
    number_of(list_of(kind)).fetch_add(1, std::memory_order_relaxed);
    return registration_id(r);
}

int registration_id(const registration &r) { return static_cast<int>(r.generation << slot_bits | r.index); }

registration_found registration_find(int id, registration_kind kind) {
    std::uint32_t index = static_cast<std::uint32_t>(id) & ((std::uint32_t{1} << slot_bits) - 1);
    if (id <= 0 || index == 0 || index >= slots.count()) return {nullptr, -ENOENT};
    registration &r = slots.at(index);
    if (registration_id(r) != id || r.has_ended) return {nullptr, -ESTALE};
    if (r.kind.load(std::memory_order_relaxed) != kind) return {nullptr, -ENOENT};
    return {&r, 0};
}

void registration_end(registration &r) {
    if (r.has_ended) return;
    r.has_ended = true;
    number_of(list_of(r.kind.load(std::memory_order_relaxed))).fetch_sub(1, std::memory_order_relaxed);
    if (r.pins == 0) free_slot(r);
}

void registrations_end_of(const tenant &t) {
    std::uint32_t of = node_of(t);
    for (registration_list list : {registration_list::shrinkers, registration_list::listeners}) {
        if (of == 0) return;
        for (std::uint32_t index = first_of(nodes.at(of), list); index != 0;) {
            registration &r = slots.at(index);
            index = r.next;
            registration_end(r); // of the last one, the node goes too
        }
        of = node_of(t);
    }
}

std::uint32_t registration_count() { return slots.count(); }
registration *registration_at(std::uint32_t index) {
    registration &r = slots.at(index);
    bool in_use = r.kind.load(std::memory_order_relaxed) != registration_kind::none && !r.has_ended;
    return in_use ? &r : nullptr;
}

// --- going through them -----------------------------------------------------------------------------------------------

registration *first_shrinker_in(const tenant &top) {
    std::uint32_t n = node_of(top);
    return first_shrinker_from(n, n);
}

registration *next_shrinker_in(const registration &r, const tenant &top) {
    if (r.node == 0) return nullptr; // a child of a fork has lost its tenant
    if (registration *next = living(r.next)) return next;
    std::uint32_t top_node = node_of(top);
    return top_node == 0 ? nullptr : first_shrinker_from(next_node(r.node, top_node), top_node);
}

registration *first_listener_from(const tenant &t) {
    for (const tenant *at = &t; at != nullptr; at = parent_of(*at))
        if (std::uint32_t n = node_of(*at)) return first_listener_up_from(n);
    return nullptr;
}

registration *next_listener(const registration &r) {
    if (r.node == 0) return nullptr;
    if (registration *next = living(r.next)) return next;
    return first_listener_up_from(nodes.at(r.node).parent);
}

// --- calls ------------------------------------------------------------------------------------------------------------

void call_begin(registration_call &call, registration &r) {
    call.next.store(calls.load(std::memory_order_relaxed), std::memory_order_relaxed);
    call.pinned = &r;
    call.tenant = r.tenant;
    call.id = registration_id(r);
    call.thread = thread_identity();
    ++r.pins;
    calls.store(&call, std::memory_order_release);
}

void call_end(registration_call &call) {
    std::atomic<registration_call *> *link = &calls;
    while (link->load(std::memory_order_relaxed) != &call) link = &link->load(std::memory_order_relaxed)->next;
    link->store(call.next.load(std::memory_order_relaxed), std::memory_order_release);
    registration &r = *call.pinned;
    if (--r.pins == 0 && r.has_ended) free_slot(r);
    ended_calls.fetch_add(1, std::memory_order_seq_cst);
    if (waiters.load(std::memory_order_seq_cst) != 0) os_futex_wake(&ended_calls, ~std::uint32_t{0} >> 1);
}

namespace {

// Whether another thread is in a call that is_meant says yes to; `seen` is where the word stood then.
template<class Meant>
bool is_anyone_in(Meant is_meant, std::uint32_t &seen) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    seen = ended_calls.load(std::memory_order_seq_cst);
    for (registration_call *c = calls.load(std::memory_order_relaxed); c != nullptr;
         c = c->next.load(std::memory_order_relaxed))
        if (is_meant(*c) && c->thread != thread_identity()) return true;
    return false;
}

template<class Meant>
void wait_for_calls(Meant is_meant) {
    // A call that matters has begun under the lock before the caller last had it, so it is seen without.
    if (calls.load(std::memory_order_acquire) == nullptr || (charges_here.flags & in_user_code) != 0) return;
    std::uint32_t seen;
    if (!is_anyone_in(is_meant, seen)) return;
    waiters.fetch_add(1, std::memory_order_seq_cst);
    while (is_anyone_in(is_meant, seen)) os_futex_wait(&ended_calls, seen, look_again_ms);
    waiters.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace

void wait_for_calls_of(int id) {
    wait_for_calls([id](const registration_call &c) { return c.id == id; });
}
void wait_for_calls_of(allot_tenant *tenant) {
    wait_for_calls([tenant](const registration_call &c) { return c.tenant == tenant; });
}

int registration_remove(int id, registration_kind kind) {
    {
        signals_blocked quiet;
        lock_scope registry(region().registry_lock.word, lock_rank::registry);
        registration_found f = registration_find(id, kind);
        if (f.found == nullptr) return f.error;
        registration_end(*f.found);
    }
    wait_for_calls_of(id);
    return 0;
}

// --- fork -------------------------------------------------------------------------------------------------------------

namespace {

// Others of the parent's threads may have been amid any change, so lists are made anew from what each slot says itself.
void forget_all_lists() {
    for (std::uint32_t &bucket : buckets) bucket = 0;
    nodes.forget_free();
    for (std::uint32_t n = 1; n < nodes.count(); ++n) nodes.put(n);
    slots.forget_free();
    for (std::atomic<std::uint32_t> &number : nr_registered) number.store(0, std::memory_order_relaxed);
    waiters.store(0, std::memory_order_relaxed);
}

// This thread may be in a call, which goes on; the others are not here any more.
void keep_own_calls() {
    std::atomic<registration_call *> *link = &calls;
    while (registration_call *c = link->load(std::memory_order_acquire)) {
        if (c->thread == thread_identity()) {
            ++c->pinned->pins;
            link = &c->next;
        } else {
            link->store(c->next.load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
    }
}

void begin_again(registration &r) {
    registration_kind kind = r.kind.load(std::memory_order_acquire);
    tenant *t = tenant_from(r.tenant);
    bool goes_on = t != nullptr && !r.has_ended && kind != registration_kind::descriptor;
    std::uint32_t to = goes_on ? node_for(*t) : 0;
    r.node = 0;
    if (to == 0) {
        r.has_ended = true;
        if (r.pins == 0) free_slot(r);
        return;
    }
    link(r, to, list_of(kind));
    number_of(list_of(kind)).fetch_add(1, std::memory_order_relaxed);
    for (std::uint32_t e = 0; e < events_capacity; ++e) r.delivered[e] = t->events[e].load(std::memory_order_relaxed);
}

} // namespace

void registrations_child_start() {
    forget_all_lists();
    for (std::uint32_t index = 1; index < slots.count(); ++index) slots.at(index).pins = 0;
    keep_own_calls();
    for (std::uint32_t index = 1; index < slots.count(); ++index) {
        registration &r = slots.at(index);
        r.index = index;
        if (r.kind.load(std::memory_order_acquire) != registration_kind::none)
            begin_again(r);
        else if (r.pins == 0)
            slots.put(index);
    }
}

} // namespace allot
