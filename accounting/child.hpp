// After fork: the child's copy of the hierarchy becomes its own.
//
// It exists because what the parent allocated stays charged to the parent, whose pages the child only shares, and
// because a region in a file is the parent's until the child has replaced its mapping.
//
// Threads: the child has one. Its other threads of before are gone, perhaps with locks held or lists half changed.
// Owner: the child, of its own region.
// Invariants: nothing is written into the region before it is the child's own.
// Cost: copies the tables: tens of microseconds for a small tree.
#pragma once

#include "accounting/options.hpp"

namespace allot {

void child_start(const options &o);

} // namespace allot
