// Misuse that is noticed on the way: one line that names the kind, the address, the size class and the tenant; abort.
//
// Threads: any. Called with the home marked busy or not; takes no lock, allocates nothing.
#pragma once

#include "alloc/alloc.hpp"
#include "alloc/heap.hpp"

namespace allot {

// p lies in the unit of this slab. Returns if it is a live slot; reports and aborts otherwise.
void check_live_slot(const slab *, const void *p);
[[noreturn]] void misuse_invalid(const slab *, const void *p); // freed, or never handed out
[[noreturn]] void misuse_size(const slab *, const void *p, std::size_t given);
[[noreturn]] void misuse_foreign(const char *function, const void *p);

extern foreign_pointer_handler foreign_pointers;

} // namespace allot
