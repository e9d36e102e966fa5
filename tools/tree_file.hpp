// Tree files: tenants and their limits in TOML, as `allot run --tree` and later commands read them.
//
//     ["/web/api"]
//     "memory.max" = "64M"
//     memory.high = 50331648
//
// It exists because a tree of limits is written once and kept; the library itself reads only the flat text this makes.
//
// Threads: one. Owner: values. Cost: none that matters.
// Invariants: 1. What is accepted here is accepted by the library: both use the same checks.
#pragma once

#include <string>

namespace allot {

// The text for ALLOT_TREE: "PATH FILE=VALUE FILE=VALUE;PATH", parents before children. Throws `usage_error` that names
// file and line.
[[nodiscard]] std::string tree_option_of(const std::string &toml, const std::string &file_name);

// The same of a file on disk. Throws `usage_error` also when it cannot be read.
[[nodiscard]] std::string read_tree_file(const std::string &file_name);

} // namespace allot
