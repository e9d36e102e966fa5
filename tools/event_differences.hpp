// What has happened between two looks at a hierarchy, from the counters of its events.
//
// Threads: one. Owner: values. Cost: linear in the tenants.
// Invariants: 1. An event is told once, at the tenant where it happened, or not: those of a tenant that was made and removed
//                between two looks.
#pragma once

#include "tools/figures.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace allot {

struct event_difference {
    std::string tenant;
    std::uint32_t event;
    std::uint64_t count, total;
};

class event_counts {
public:
    // Since the last look; the first one tells nothing.
    [[nodiscard]] std::vector<event_difference> look(const std::vector<tenant_figures> &);

private:
    std::map<std::string, std::array<std::uint64_t, allot_nr_events>> seen_;
    bool has_looked_ = false;
};

} // namespace allot
