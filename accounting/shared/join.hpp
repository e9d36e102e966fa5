// How a process begins, goes on after a fork, and ends, in a tree that it shares with others.
//
// Threads: the process's first, or a forked child's only one.
// Owner: the process.
// Invariants: 1. Where a process cannot join, its tree is its own, with the same limits, and it says so once.
// Cost: see file.hpp and members.hpp.
#pragma once

#include "accounting/options.hpp"

namespace allot {

// Attaches to the hierarchy of the options and becomes a member. False: there is none, or it cannot be; then a line was written.
[[nodiscard]] bool join_others(const options &o);
// With a region: contexts are in the shared file from now on. False: other processes' threads cannot be ordered, so no stocks
// are held.
void share_contexts();
// Whether settings that this process was started with are to be applied to a tenant of a shared tree: who makes it sets it up.
[[nodiscard]] bool is_new_to_others(const char *path);

// In a forked child, before its copies of tenants are emptied: a member of its own, which inherits what the parent holds.
void join_as_copy();
// Once all of it has been told.
void joined_as_copy();
// Of one tenant, whose account is the parent's still.
void take_over_tenant(struct tenant &t);

} // namespace allot
