// The files of a tenant whose names begin with "cgroup.": its processes, its place in the tree.
//
// Threads: see tenant_files.hpp; kill_all() without locks.
// Owner: nobody.
// Invariants: formats are cgroup v2's, byte for byte.
// Cost: cgroup.stat walks the subtree's handles; cgroup.events its tenants and contexts until it finds one.
#pragma once

#include "accounting/file_text.hpp"

struct allot_tenant;

namespace allot {

struct tenant;

void get_procs(const tenant &, file_text &);
// Populated: a process of the subtree lives, or one of its threads works for a tenant of it.
void get_cgroup_events(const tenant &, file_text &);
void get_max_descendants(const tenant &, file_text &);
int set_max_descendants(tenant &, const char *);
void get_cgroup_stat(const tenant &, file_text &);
int kill_all(allot_tenant *, const char *); // of every process of the subtree, and perhaps this one

} // namespace allot
