#include "tools/render_tree.hpp"

#include "accounting/base/units.hpp"
#include "accounting/tables.hpp"
#include "tools/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace allot {

std::string events_text(const tenant_figures &t) {
    std::string text;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e)
        if (t.events[e] != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", event_table[e].name, t.events[e]);
    return text.empty() ? "-" : text;
}

std::string indented_name(const std::string &path, const std::string &top) {
    const auto depth = [](const std::string &p) { return p == "/" ? 0 : std::count(p.begin(), p.end(), '/'); };
    if (path == top) return shown(path);
    const auto levels = static_cast<std::size_t>(std::max<std::ptrdiff_t>(depth(path) - depth(top), 0));
    return std::string(2 * levels, ' ') + shown(path.substr(path.rfind('/') + 1));
}

std::string render_tree(const std::vector<tenant_figures> &tenants) {
    std::vector<std::vector<std::string>> rows;
    for (const tenant_figures &t : tenants)
        rows.push_back({indented_name(t.path, tenants.front().path), bytes_text(t.current), bytes_text(t.peak),
                        limit_text(t.min), limit_text(t.low), limit_text(t.high), limit_text(t.max),
                        fmt::format("{}", t.nr_processes), events_text(t)});
    std::string text;
    for (const std::string &line :
         table_lines({"tenant", "current", "peak", "min", "low", "high", "max", "procs", "events"}, rows))
        text += line + "\n";
    return text;
}

namespace {

// No limit is null.
nlohmann::ordered_json limit_of(std::uint64_t bytes) {
    return bytes >= unlimited ? nlohmann::ordered_json() : nlohmann::ordered_json(bytes);
}

template<class Values>
nlohmann::ordered_json events_of(const Values &values) {
    nlohmann::ordered_json events;
    for (std::uint32_t e = 0; e < allot_nr_events; ++e) events[event_table[e].name] = values[e];
    return events;
}

} // namespace

nlohmann::ordered_json json_of(const tenant_figures &t) {
    nlohmann::ordered_json stat;
    for (std::uint32_t s = 0; s < allot_nr_stats; ++s) stat[stat_table[s].name] = t.stats[s];
    return {{"path", t.path},
            {"current", t.current},
            {"peak", t.peak},
            {"min", limit_of(t.min)},
            {"low", limit_of(t.low)},
            {"high", limit_of(t.high)},
            {"max", limit_of(t.max)},
            {"headroom", limit_of(t.headroom)},
            {"processes", t.nr_processes},
            {"events", events_of(t.events)},
            {"events_local", events_of(t.events_local)},
            {"stat", stat}};
}

nlohmann::ordered_json json_of(const process_entry &p) {
    return {{"pid", p.pid},       {"program", p.program}, {"state", word_of(p.state)},
            {"tenant", p.tenant}, {"charged", p.charged}, {"peak", p.peak}};
}

} // namespace allot
