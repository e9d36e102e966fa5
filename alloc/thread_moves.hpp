// Which thread works for which tenant, and moving one from outside: what cgroup.threads reads and writes.
//
// A thread that has allocated has a home, which says whom it works for and takes requests (active.hpp). One that has not
// is in /proc alone: it works for the process's tenant, and a request for it waits in a list until its first call.
//
// Threads: any that is not amid a slow path. Owner: nobody.
// Invariants: a request that was accepted is served by the thread's next call of the allocator, unless it ends first.
// Cost: a move is a membarrier and, for the thread, one slow path; a list reads /proc/self/task.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

// 0; -ESRCH: no such thread in this process; -ENOMEM. 0 as id means the calling thread.
[[nodiscard]] int thread_move(std::uint32_t thread_id, allot_tenant *to);

// Each thread of the process with the living tenant that it works for. No lock is held.
void threads_list(void (*each)(void *state, std::uint32_t thread_id, allot_tenant *), void *state);

// The calling thread has just moved in: what was asked of it before.
void serve_waiting_move(home *);

void thread_moves_child_start();

} // namespace allot
