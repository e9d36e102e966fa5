#include "tools/top_table.hpp"

#include "accounting/base/units.hpp"
#include "tools/render_tree.hpp"
#include "tools/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace allot {

namespace {

bool is_before(const top_row &a, const top_row &b, top_order order) {
    switch (order) {
    case top_order::name: break;
    case top_order::current: return a.figures->current > b.figures->current;
    case top_order::peak: return a.figures->peak > b.figures->peak;
    case top_order::percent: return a.percent > b.percent;
    case top_order::events: return a.nr_events > b.nr_events;
    case top_order::rate: return a.rate > b.rate;
    }
    return comes_before(a.figures->path, b.figures->path);
}

std::string parent_of(const std::string &path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

// Each row behind its parent, siblings in the order in which they come.
std::vector<top_row> as_tree(const std::vector<top_row> &rows, const std::string &top) {
    std::map<std::string, std::vector<const top_row *>> children;
    std::vector<const top_row *> waiting;
    for (const top_row &row : rows)
        if (row.figures->path == top)
            waiting.push_back(&row);
        else
            children[parent_of(row.figures->path)].push_back(&row);
    std::vector<top_row> ordered;
    while (!waiting.empty()) {
        const top_row *row = waiting.back();
        waiting.pop_back();
        ordered.push_back(*row);
        auto &below = children[row->figures->path];
        waiting.insert(waiting.end(), below.rbegin(), below.rend());
        below.clear(); // of two tenants of one name, in a damaged file, one has them
    }
    return ordered;
}

std::string rate_text(double rate) {
    if (std::abs(rate) < 0.5) return "0";
    const auto bytes = static_cast<std::uint64_t>(std::min(std::abs(rate), 9e18));
    return (rate < 0 ? "-" : "+") + bytes_text(bytes);
}

} // namespace

void top_table::look(hierarchy_view view, const std::string &top, double seconds) {
    std::map<std::string, double> before;
    for (const tenant_figures &t : view_.tenants) before[t.path] = static_cast<double>(t.current);
    const double passed = seconds - seconds_;
    rates_.clear();
    view.tenants = subtree_of(std::move(view.tenants), top);
    for (const tenant_figures &t : view.tenants) {
        const auto was = before.find(t.path);
        if (was != before.end() && passed > 0) rates_[t.path] = (static_cast<double>(t.current) - was->second) / passed;
    }
    view_ = std::move(view);
    top_ = top;
    seconds_ = seconds;
}

std::vector<top_row> top_table::rows(const top_settings &settings) const {
    std::vector<top_row> rows;
    for (const tenant_figures &t : view_.tenants) {
        const auto rate = rates_.find(t.path);
        const double percent = t.max >= unlimited ? -1
                               : t.max == 0       ? 100
                                                  : 100 * static_cast<double>(t.current) / static_cast<double>(t.max);
        rows.push_back({&t, percent, rate == rates_.end() ? 0 : rate->second,
                        std::accumulate(t.events.begin(), t.events.end(), std::uint64_t{0})});
    }
    std::stable_sort(rows.begin(), rows.end(), [&](const top_row &a, const top_row &b) {
        return settings.reversed ? is_before(b, a, settings.order) : is_before(a, b, settings.order);
    });
    return settings.as_tree ? as_tree(rows, top_) : rows;
}

std::string top_table::summary(const std::string &hierarchy) const {
    std::size_t living = 0;
    for (const process_entry &p : view_.processes) living += p.lives() && is_at_or_below(p.tenant, top_) ? 1 : 0;
    const std::uint64_t current = view_.tenants.empty() ? 0 : view_.tenants.front().current;
    return fmt::format("{}{}: {} process{}, {} tenant{}, {} in use", shown(hierarchy),
                       top_ == "/" ? "" : " " + shown(top_), living, living == 1 ? "" : "es", view_.tenants.size(),
                       view_.tenants.size() == 1 ? "" : "s", bytes_text(current));
}

std::vector<std::string> top_lines(const std::vector<top_row> &rows, const top_settings &settings,
                                   const std::string &top) {
    std::vector<std::vector<std::string>> cells;
    for (const top_row &row : rows) {
        const tenant_figures &t = *row.figures;
        cells.push_back({settings.as_tree ? indented_name(t.path, top) : shown(t.path), bytes_text(t.current),
                         bytes_text(t.peak), limit_text(t.max),
                         row.percent < 0 ? "-" : fmt::format("{:.1f}", row.percent), fmt::format("{}", t.nr_processes),
                         fmt::format("{}", row.nr_events), rate_text(row.rate)});
    }
    return table_lines({"tenant", "current", "peak", "max", "%max", "procs", "events", "rate/s"}, cells);
}

} // namespace allot
