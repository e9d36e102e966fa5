// Why a tenant cannot be made, for all commands that make some.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include <string>

namespace allot {

// `error`: a negative errno of accounting/shared/nodes.hpp.
[[nodiscard]] std::string making_problem(const std::string &path, int error);

} // namespace allot
