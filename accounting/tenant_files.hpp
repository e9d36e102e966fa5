// The files of a tenant: cgroup v2's names and formats, as texts that are read and written.
//
// They exist so that a limit is set, and a figure read, in one way from the C API, the environment, tree files and the
// command; the list of files is one table.
//
// Threads: any; takes the registry lock, and for a lowered limit the drain lock.
// Owner: the caller's buffer.
// Invariants: a write that is refused changes nothing.
// Cost: a walk over the contexts of the subtree for memory.current and memory.stat.
#pragma once

#include <allot/tenant.h>

#include <cstddef>
#include <cstdint>

namespace allot {

// The length of the text, or a negative errno. Cut to fit and terminated, as snprintf.
[[nodiscard]] long tenant_get(allot_tenant *, const char *file, char *buffer, std::size_t size);
[[nodiscard]] int tenant_set(allot_tenant *, const char *file, const char *value);

// By number, for whoever lists them; nullptr after the last.
[[nodiscard]] const char *tenant_file_name(std::uint32_t number);

} // namespace allot
