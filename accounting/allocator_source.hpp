// What only the allocator of this process knows: its own memory, what was asked of it, and whom each thread works for.
//
// It exists so that memory.stat and cgroup.threads can say it although accounting knows neither slabs nor threads. Without
// an allocator there is nothing to say: figures are 0, and no thread can be moved.
//
// Threads: set once, before there are threads; asked by any that holds no lock.
// Owner: the allocator; constants. Cost: see memory_figures.hpp and thread_moves.hpp of alloc/; for reports.
#pragma once

#include <cstdint>

struct allot_tenant;

namespace allot {

struct tenant;

struct allocator_figures {  // of this process, in bytes
    std::uint64_t cache;    // free, and kept for use
    std::uint64_t overhead; // its own
    std::uint64_t resident; // of all that it has mapped: in memory
};

using requested_visitor = void (*)(void *state, std::uint32_t obj_cgroup, std::uint64_t requested,
                                   std::uint64_t usable);
using thread_visitor = void (*)(void *state, std::uint32_t thread_id, allot_tenant *);

struct allocator_source {
    allocator_figures (*figures)();
    // Without locks. Samples, or all there is: for each handle what was asked for, and how many bytes that took.
    void (*requested)(requested_visitor, void *state);
    void (*threads)(thread_visitor, void *state);
    // 0, -ESRCH: no such thread; -ENOMEM. 0 is the calling thread.
    int (*move_thread)(std::uint32_t thread_id, allot_tenant *to);
};

// The allocator's figures, and the region's part of overhead and resident.
[[nodiscard]] allocator_figures process_figures();

void accounting_set_allocator(const allocator_source *);
[[nodiscard]] const allocator_source *allocator_if_any();

// What was asked for, of so many usable bytes of a tenant's subtree; all of it where there are no samples. Without locks: of
// a tenant that is destroyed meanwhile it may be another's.
[[nodiscard]] std::uint64_t requested_estimate(const tenant &top, std::uint64_t usable);

} // namespace allot
