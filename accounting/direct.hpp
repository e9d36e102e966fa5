// Direct charges: bytes that never enter a net word, because they are many or come from elsewhere.
//
// They take a lock, striped by tenant, that drainers and who destroys a tenant take as well: a charge of several levels
// is never seen half done by them, and the tenant stays in place meanwhile.
//
// Threads: charge_bytes() and uncharge_bytes() of accounting.hpp from any thread and any signal handler.
// Owner: nobody.
// Invariants: a tenant's `large` and `external` are what was charged less what was uncharged, and never negative.
// Cost: a lock, two system calls that keep handlers away, and one locked instruction a level: for a mebibyte or more.
#pragma once

#include "accounting/accounting.hpp"

namespace allot {

struct obj_cgroup;

// Uncharges what signal handlers could not. With the direct lock of the handle's tenant.
void take_deferred(obj_cgroup &o);

} // namespace allot
