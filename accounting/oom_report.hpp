// The report of a refusal that stops the program: who asked for how much, which level had no room, who uses most below it.
//
// Threads: any; without locks: it takes the registry lock to add up, and writes after that.
// Owner: nobody; all of it is on the stack, since there is no heap that one could rely on.
// Invariants: one line says what happened; a line a level follows, and one for each of the largest consumers.
// Cost: a walk over all tenants, and some write(2).
#pragma once

#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

// `consequence`: what happens next, such as "memory.oom.policy is abort".
void oom_report(const tenant &asked, const tenant &level, std::uint64_t bytes, const char *consequence);

} // namespace allot
