// After fork: the child's copy of the hierarchy becomes its own.
//
// It exists because what the parent allocated stays charged to the parent, whose pages the child only shares. Where the tree is
// shared with other processes, the child becomes a member of its own (shared/join.hpp).
//
// Threads: the child has one. Its other threads of before are gone, perhaps with locks held or lists half changed.
// Owner: the child, of its own region.
// Invariants: what it finds in its tables may be half changed: lists are made anew from the records.
// Cost: a pass over the tables: tens of microseconds for a small tree.
#pragma once

#include "accounting/options.hpp"

namespace allot {

void child_start(const options &o);

} // namespace allot
