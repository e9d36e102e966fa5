// The child of a fork: what it inherits is its parent's.
//
// The child does not use a slab, a home or a free unit of its parent: other threads of the parent may have been half-way
// through changing them. It finds its wiped memory empty, makes everything anew, and allocates behind the frontier. A
// free of an inherited object does nothing: the parent paid for it, and writing to it would copy the page. A call that a
// handler interrupted with its fork ends before that, in what was inherited (visit.hpp).
// Threads: both by the only thread of a child, before anything else of the allocator.
#pragma once

#include <cstdint>

namespace allot {

// Counts the forks between the first ancestor and this process; slabs carry it. Written by fork_repair alone, before the
// process has a second thread.
[[gnu::visibility("hidden")]] extern std::uint32_t generation_here;
inline std::uint32_t process_generation() { return generation_here; }

void fork_repair(); // where it has not been done
void fork_begin_anew();

} // namespace allot
