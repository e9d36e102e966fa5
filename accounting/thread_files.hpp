// cgroup.threads: the threads of this process that work for a tenant, and moving one.
//
// Threads: any that holds no lock. Owner: nobody.
// Invariants: what a thread has allocated stays where it is charged; later allocations are the new tenant's.
// Cost: reading asks for every thread of the process; see thread_moves.hpp of alloc/.
#pragma once

#include "accounting/file_text.hpp"

struct allot_tenant;

namespace allot {

// One id a line. 0, or -ESTALE.
[[nodiscard]] int list_threads(allot_tenant *, file_text &);
// "ID" of a thread of this process, "0": the calling one. 0, -EINVAL, -ESRCH, -ESTALE, -ENOMEM.
[[nodiscard]] int move_thread(allot_tenant *, const char *value);

} // namespace allot
