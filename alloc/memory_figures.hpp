// memory_figures: what the allocator's own memory is used for, in this process, in bytes that are in memory.
//
// It exists to explain what the system says of a process (Rss) by what tenants are charged:
//   resident = live blocks that were touched + cache + overhead, but for parts of pages.
//
// And what programs asked for of what they use, estimated from samples that slow paths take.
//
// Threads: any that is not amid a slow path. Other threads' slabs are read as they are at some moment.
// Owner: the caller's result. Cost: a look at each header and one system call for each unit; for reports.
#pragma once

#include <cstdint>

namespace allot {

struct memory_figures {
    std::uint64_t cache;    // of slabs, what is not live; free units that were not given back
    std::uint64_t overhead; // headers, metadata, vectors, the emergency reserve
    std::uint64_t resident; // of all that is mapped for blocks and for the allocator itself
};
[[nodiscard]] memory_figures memory_figures_get();

// Calls add for every heap that has samples: whose it is, what was asked for, and how much that took; where requests are
// kept, for every block (requests.hpp).
void requested_samples(void (*add)(void *state, std::uint32_t owner, std::uint64_t requested, std::uint64_t usable),
                       void *state);

} // namespace allot
