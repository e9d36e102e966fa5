// The files of a tenant: cgroup v2's names and formats, as texts that are read and written.
//
// They exist so that a limit is set, and a figure read, in one way from the C API, the environment, tree files and the
// command; the list of files is one table. What each says is in memory_files and cgroup_files.
//
// Threads: any that holds no lock; each file says in the table under which locks it is served.
// Owner: the caller's buffer.
// Invariants: 1. A write that is refused changes nothing.
//             2. User code runs only in what is served without locks.
// Cost: a walk over the contexts of the subtree for memory.current and memory.stat.
#pragma once

#include "accounting/file_text.hpp"

#include <allot/tenant.h>

#include <cstddef>
#include <cstdint>

namespace allot {

struct tenant;

struct tenant_file {
    const char *name;
    // Under the registry lock; nullptr: see `ask`.
    void (*get)(const tenant &, file_text &);
    // Under drain lock and registry lock; 0 or a negative errno.
    int (*set)(tenant &, const char *value) = nullptr;
    // Without locks, in the place of get: a negative errno if there is no answer.
    int (*ask)(allot_tenant *, file_text &) = nullptr;
    // Without locks, in the place of set, or after one that succeeded.
    int (*tell)(allot_tenant *, const char *value) = nullptr;
};

// The length of the text, or a negative errno. Cut to fit and terminated, as snprintf.
[[nodiscard]] long tenant_get(allot_tenant *, const char *file, char *buffer, std::size_t size);
[[nodiscard]] int tenant_set(allot_tenant *, const char *file, const char *value);

// By number, for whoever lists them; nullptr after the last.
[[nodiscard]] const char *tenant_file_name(std::uint32_t number);

} // namespace allot
