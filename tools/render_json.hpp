// The report of a run for programs: one JSON object on one line.
//
// accounting/usage_report.hpp has its form, which is stable: keys are added, never changed. Bytes are numbers, no limit is
// null. `tenants` are those of the hierarchy; `processes` has each program image that is still known, oldest first.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include "tools/figures.hpp"

#include <string>

namespace allot {

[[nodiscard]] std::string render_json(const run_figures &);

} // namespace allot
