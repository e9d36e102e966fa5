// The files of a tenant as seen from outside its processes: cgroup v2's names and formats, read from figures, and written to
// the node that all processes share.
//
// They exist so that `allot get` and `allot set` accept and show what the files of the C API do. What only a process itself
// can tell or do (memory.pressure, cgroup.threads, memory.fail) is not here, and is refused by name.
//
// Threads: one. Owner: values.
// Invariants: 1. A write that is refused changes nothing.
//             2. A limit that was set is in force for every charge that is decided after the call.
// Cost: a write is a few words; one that lowers memory.max takes unused stocks of all processes below, and asks them for the
//   rest.
#pragma once

#include "tools/hierarchy_view.hpp"

#include <cstdint>
#include <string>

namespace allot {

// The text of one file. Throws `failure`: no such file, or not one to be read from outside.
[[nodiscard]] std::string file_text_of(const hierarchy_view &, const tenant_figures &, const std::string &file);

struct file_write {
    std::string file, value;
};
// "memory.max=64M". Throws `usage_error`.
[[nodiscard]] file_write read_file_write(const std::string &argument);
// What is wrong with it whatever the tenant, as `usage_error`: an unknown file or one not to be written, a value it does not
// take.
void check_file_write(const file_write &);

// To a node of what is attached for real. Throws as above, and `failure` where it did not have its effect.
void write_file(std::uint32_t node, const file_write &);

} // namespace allot
