// The recount: what is alive, by owner, found by walking every slab header of this process.
//
// It exists so that the counters can be checked against the objects themselves.
// Threads: any, at a point where no other thread is inside the allocator.
#pragma once

#include <cstdint>

namespace allot {

struct recount_sink; // accounting/accounting.hpp; alloc/ fills it only where it is accounted
using recount_source = void (*)(recount_sink &);

// Reports every live object below direct_charge_bytes, and whole slabs at once. Objects on their way home (freed by
// another thread, not yet collected) are reported with negative bytes and objects, in wrapping arithmetic.
void recount(recount_sink &);

} // namespace allot
