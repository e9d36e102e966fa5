// The files of a tenant that tell of pressure and say what it leads to: memory.pressure and memory.throttle, and what writing a
// limit leads to.
//
// Threads: readers under the registry lock, writers under drain lock and registry lock; see tenant_files.hpp.
// Owner: nobody.
// Invariants: memory.pressure has the kernel's format, byte for byte; a write that is refused changes nothing.
// Cost: a few loads, and bringing averages up to now.
#pragma once

#include "accounting/file_text.hpp"

struct allot_tenant;

namespace allot {

struct tenant;

void get_pressure(const tenant &, file_text &);
// "inherit", "0" or "1".
void get_throttle(const tenant &, file_text &);
int set_throttle(tenant &, const char *);

// Without locks, after memory.high or memory.max has been set.
int reclaim_to_set_limits(allot_tenant *of, const char *);

} // namespace allot
