#include "tools/event_differences.hpp"

namespace allot {

std::vector<event_difference> event_counts::look(const std::vector<tenant_figures> &tenants) {
    std::vector<event_difference> found;
    std::map<std::string, std::array<std::uint64_t, allot_nr_events>> now;
    for (const tenant_figures &t : tenants) {
        now[t.path] = t.events_local;
        const auto before = seen_.find(t.path); // one that is new has begun at zero
        for (std::uint32_t e = 0; has_looked_ && e < allot_nr_events; ++e) {
            const std::uint64_t was = before == seen_.end() ? 0 : before->second[e];
            const std::uint64_t is = t.events_local[e];
            // Fewer than before: it was removed, and made again.
            if (is != was) found.push_back({t.path, e, is > was ? is - was : is, is});
        }
    }
    std::erase_if(found, [](const event_difference &d) { return d.count == 0; });
    seen_ = std::move(now);
    has_looked_ = true;
    return found;
}

} // namespace allot
