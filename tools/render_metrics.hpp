// Figures of a hierarchy for collectors: Prometheus's text format, or OpenMetrics 1.0.
//
// Names begin with allot_, units are base units. A tenant is the label `tenant`; since anybody can make tenants, only so many
// have series of their own, those that use most, and the rest are summed under tenant="(other)", which is no path.
//
// Threads: one. Owner: values. Cost: linear in the tenants and the metrics.
// Invariants: 1. Each series appears once, whatever bytes names have: what is no UTF-8 is written as \xNN, and the backslash
//                before an x as \x5c.
//             2. (other) counts nothing twice: of tenants that are left out below one another, the topmost counts, which has
//                the others in it.
#pragma once

#include "tools/hierarchy_view.hpp"

#include <cstddef>
#include <string>

namespace allot {

enum class metrics_format { prometheus, openmetrics };

[[nodiscard]] std::string render_metrics(const hierarchy_view &, metrics_format, std::size_t max_tenants);

// As it stands between the quotes of a label.
[[nodiscard]] std::string label_text(const std::string &path);

} // namespace allot
