// The report of a run for people.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include "tools/figures.hpp"

#include <string>

namespace allot {

[[nodiscard]] std::string render_text(const run_figures &);

} // namespace allot
