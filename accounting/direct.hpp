// Direct charges: bytes that never enter a net word, because they are many or come from elsewhere.
//
// They take a lock that drainers and who destroys a tenant take as well: a charge of several levels is never seen half
// done by them, and the tenant stays in place meanwhile. For bytes from elsewhere it is one of a few that are striped by
// tenant, and no handler runs meanwhile: programs stop their threads in handlers and map memory while they stand still,
// and such a stopped thread must not hold a lock of all. For large objects it is that of the thread's own context, which
// nobody waits for but who drains.
//
// Threads: charge_bytes() and uncharge_bytes() of accounting.hpp from any thread and any signal handler;
//   context_charge_bytes() and context_uncharge_bytes() by the thread that uses the context, and its handlers.
// Owner: nobody.
// Invariants: a tenant's `large` and `external` are what was charged less what was uncharged, and never negative.
// Cost: a lock and one locked instruction a level; for bytes from elsewhere, two system calls that keep handlers away.
#pragma once

#include "accounting/accounting.hpp"

namespace allot {

struct obj_cgroup;

// Uncharges what signal handlers could not. With a lock that keeps the handle's tenant in place.
void take_deferred(obj_cgroup &o);

} // namespace allot
