// Registrations: code of the program's that wants to be called for a tenant: shrinkers, callbacks and event descriptors.
//
// They exist beside the region, in this process alone, since they are pointers: a list for each tenant that has any, and a
// small tree of these tenants and their ancestors, so that a look for the shrinkers below a tenant visits no other tenants.
//
//   region:         /web ── a, b, c, … z         registrations:   node of /web ── node of /web/c ── shrinker, callback
//
// User code is called without any lock, so its registration may end meanwhile: while a call is on, the registration is
// pinned (its place in the list stays), and a record of the call, on the caller's stack, says which thread is in it. Who
// ends a registration waits until no other thread is.
//
// Threads: under the registry lock, but for the few that say otherwise.
// Owner: the registration ends by its id, or with its tenant.
// Invariants: 1. A registration that was ended is not called again; its slot is free once nobody is in it.
//             2. A node exists as long as its tenant has a registration, or a descendant with a node.
// Cost: 192 bytes a registration; a look-up of a tenant is a hash chain. A program without any pays one load.
#pragma once

#include "accounting/base/os.hpp"
#include "accounting/tenant.hpp"

#include <allot/tenant.h>

#include <atomic>
#include <cstdint>

namespace allot {

enum class registration_kind : std::uint32_t { none, shrinker, callback, descriptor };
enum class registration_list : std::uint32_t { shrinkers, listeners };
inline constexpr std::uint32_t nr_registration_lists = 2;

struct registration {
    // Written under the lock, last when it begins, first when it ends; a forked child believes what it says.
    std::atomic<registration_kind> kind;
    std::uint32_t generation; // of the slot
    std::uint32_t node;       // 0: in no list
    std::uint32_t next, previous;
    std::uint32_t pins; // calls that are on
    bool has_ended;
    bool has_news;        // a shrinker's: its tenant has an event to tell
    std::uint32_t events; // a listener's: bits
    int descriptor;       // of our own, of the file below
    int users_descriptor; // the number that was given out
    std::uint32_t index;
    std::uint32_t free_next;
    os_file_identity identity;
    allot_tenant *tenant;
    void *argument;
    allot_shrinker_count count;
    allot_shrinker_scan scan;
    allot_event_callback callback;
    // Of a listener, by event: up to what the tenant's count has been delivered.
    std::uint64_t delivered[events_capacity];
    // Of a shrinker: what count() said last, written by who called it, relaxed: a figure; and what it owes to reclaims, or
    // below zero has given in advance, in bytes.
    std::atomic<std::uint64_t> counted;
    std::int64_t owed;
};

// Whether there is any of a list. Without a lock; a hint that is right once the registering call has returned.
[[nodiscard]] bool any_registered(registration_list list);

// --- registry lock ----------------------------------------------------------------------------------------------------
// A fresh registration, not in any list; nullptr: no memory. The caller fills it in and calls registration_begin.
[[nodiscard]] registration *registration_new();
// Whether its descriptor still is what it was made as.
[[nodiscard]] bool registration_has_its_descriptor(const registration &r);
// Puts it into its tenant's list; its id, or -ENOMEM: then it is free again, and a descriptor still the
// caller's.
[[nodiscard]] int registration_begin(registration &r, tenant &t, registration_kind kind);
[[nodiscard]] int registration_id(const registration &r);
struct registration_found {
    registration *found; // nullptr: see error
    int error;           // -ENOENT: never one of that kind; -ESTALE: it has ended
};
[[nodiscard]] registration_found registration_find(int id, registration_kind kind);
// Not called again from here on.
void registration_end(registration &r);
// All of a tenant that goes.
void registrations_end_of(const tenant &t);
// Whoever wants to see them all: index from 1; nullptr for one that is not in use.
[[nodiscard]] std::uint32_t registration_count();
[[nodiscard]] registration *registration_at(std::uint32_t index);

// The shrinkers of a subtree, in an order that stays while one of them is pinned. nullptr: no more.
[[nodiscard]] registration *first_shrinker_in(const tenant &top);
[[nodiscard]] registration *next_shrinker_in(const registration &r, const tenant &top);
// The listeners of a tenant, then of its parent, and so on.
[[nodiscard]] registration *first_listener_from(const tenant &t);
[[nodiscard]] registration *next_listener(const registration &r);

// A call that is on. Made and ended under the lock, with the call between; lives on the caller's stack.
struct registration_call {
    std::atomic<registration_call *> next;
    registration *pinned;
    allot_tenant *tenant;
    int id;
    std::uintptr_t thread;
};
void call_begin(registration_call &call, registration &r);
void call_end(registration_call &call);

// --- without a lock ---------------------------------------------------------------------------------------------------
// Ends one of that kind, and waits as below. 0, -ENOENT, -ESTALE.
[[nodiscard]] int registration_remove(int id, registration_kind kind);
// Waits until no other thread is in a call of that registration, or of any of that tenant. In user code it waits for nobody:
// there two threads might wait for each other.
void wait_for_calls_of(int id);
void wait_for_calls_of(allot_tenant *tenant);

// In the child of a fork, whose tenants are there again: what had begun goes on, but for descriptors, which are the
// parent's too; calls that other threads were in are over.
void registrations_child_start();

} // namespace allot
