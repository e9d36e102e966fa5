// The report of a run for programs: one JSON object on one line.
//
// accounting/usage_report.hpp has its form, which is stable: keys are added, never changed. Bytes are numbers, no limit is
// null. `tenants` sums the images (figures.hpp says how); `images` has each program image by itself, oldest first; one
// whose file could not be read has a "problem" and no tenants.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include "tools/figures.hpp"

#include <string>

namespace allot {

[[nodiscard]] std::string render_json(const run_figures &);

} // namespace allot
