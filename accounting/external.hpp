// Bytes from elsewhere that a program charges by the handle of a tenant: mappings, a GPU's memory, pools of its own.
//
// They exist beside direct.hpp, where a caller names an owner by index and holds a reference, because nothing but the
// program's C handle names these: a tenant's record cannot be used again while its handle stands for some of them, or nobody
// knew any more whom to credit. So each handle counts what it stands for, and a destroyed tenant's record stays until that
// is given back; its obj_cgroup names the heir meanwhile, however many of them are destroyed too.
//
// Threads: any. In a signal handler amid our own code, which cannot wait, nothing is charged, and what is given back is
//   credited but still held.
// Owner: nobody.
// Invariants: 1. What a handle holds is what was charged by it less what was given back by it; never negative.
//             2. The record of a destroyed tenant is free once it holds nothing.
// Cost: the registry lock beside what direct.hpp costs. The root, which does not end, holds nothing.
#pragma once

#include <cstdint>

struct allot_tenant;

namespace allot {

struct tenant;

// 0; -ESTALE: there is no such tenant; -ENOMEM: they do not fit.
[[nodiscard]] int external_charge(allot_tenant *, std::uint64_t bytes);
// Of a tenant that is gone, to the nearest living ancestor, which was given the charge. What was never charged is cut and
// counted as an anomaly.
void external_uncharge(allot_tenant *, std::uint64_t bytes);

// Registry lock.
[[nodiscard]] std::uint64_t external_held(const tenant &t);

} // namespace allot
