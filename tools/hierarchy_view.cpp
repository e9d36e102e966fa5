#include "tools/hierarchy_view.hpp"

#include "accounting/shared/figures.hpp"
#include "accounting/shared/nodes.hpp"
#include "tools/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace allot {

namespace {

using shared::node_figures;

// A removed node can be the parent of nothing that lives; where a damaged file says so, paths name it all the same.
std::string path_of(std::uint32_t index, const std::vector<node_figures> &nodes) {
    std::string path;
    for (std::uint32_t at = index; at > shared::root_node; at = nodes[at].parent) {
        const char *name = shared::node_at(at).name;
        path.insert(0, "/" + std::string(name, strnlen(name, ALLOT_TENANT_NAME_MAX)));
    }
    return path.empty() ? "/" : path;
}

tenant_figures tenant_of(const node_figures &n, std::string path) {
    tenant_figures t;
    t.path = std::move(path);
    t.depth = static_cast<std::uint32_t>(t.path == "/" ? 0 : std::count(t.path.begin(), t.path.end(), '/'));
    t.current = n.current;
    t.usage = n.usage;
    t.peak = n.peak;
    t.min = n.min;
    t.low = n.low;
    t.high = n.high;
    t.max = n.max;
    t.headroom = n.headroom;
    std::copy(std::begin(n.events), std::end(n.events), t.events.begin());
    std::copy(std::begin(n.events_local), std::end(n.events_local), t.events_local.begin());
    std::transform(std::begin(n.stats), std::end(n.stats), t.stats.begin(),
                   [](std::int64_t value) { return static_cast<std::uint64_t>(value); });
    t.nr_processes = n.nr_processes;
    t.nr_threads = n.nr_threads;
    t.nr_descendants = n.nr_descendants;
    t.descendants_max = n.descendants_max;
    t.on_refusal = n.on_refusal;
    t.kills_group = n.kills_group;
    t.throttle = n.throttle;
    return t;
}

process_life life_of(shared::process_condition condition) {
    switch (condition) {
    case shared::process_condition::running: return process_life::running;
    case shared::process_condition::stopped: return process_life::stopped;
    case shared::process_condition::exited: return process_life::exited;
    case shared::process_condition::ended:
    case shared::process_condition::none: break;
    }
    return process_life::ended;
}

std::vector<process_entry> processes_of(const std::vector<node_figures> &nodes) {
    std::vector<shared::process_figures> records(shared::members_end());
    shared::read_process_figures(records.data(), static_cast<std::uint32_t>(records.size()));
    std::vector<process_entry> processes;
    for (std::uint32_t index = 1; index < records.size(); ++index) {
        const shared::process_figures &record = records[index];
        if (record.condition == shared::process_condition::none) continue;
        const char *name = shared::member_at(index).name;
        process_entry p;
        p.pid = record.pid;
        p.program.assign(name, strnlen(name, shared::member_name_bytes));
        p.state = life_of(record.condition);
        p.tenant = path_of(record.node < nodes.size() ? record.node : 0, nodes);
        p.charged = record.charged;
        p.peak = record.peak;
        p.uncounted = record.uncounted;
        p.uncounted_peak = record.uncounted_peak;
        p.born = record.born;
        p.member = index;
        processes.push_back(std::move(p));
    }
    std::sort(processes.begin(), processes.end(),
              [](const auto &a, const auto &b) { return a.born != b.born ? a.born < b.born : a.member < b.member; });
    return processes;
}

} // namespace

hierarchy_view view_of_attached() {
    std::vector<node_figures> nodes(shared::nodes_end());
    if (nodes.empty()) return {};
    shared::read_node_figures(nodes.data(), static_cast<std::uint32_t>(nodes.size()));
    hierarchy_view view;
    for (std::uint32_t index = shared::root_node; index < nodes.size(); ++index)
        if (nodes[index].is_living) view.tenants.push_back(tenant_of(nodes[index], path_of(index, nodes)));
    std::stable_sort(view.tenants.begin(), view.tenants.end(),
                     [](const auto &a, const auto &b) { return comes_before(a.path, b.path); });
    view.processes = processes_of(nodes);
    return view;
}

hierarchy_view view_as_it_is(const hierarchy_choice &choice) {
    const file_copy copy(choice);
    return view_of_attached();
}

hierarchy_view view_of(const hierarchy_choice &choice) {
    reap_apart(choice);
    return view_as_it_is(choice);
}

std::vector<tenant_figures> subtree_of(std::vector<tenant_figures> tenants, const std::string &top) {
    std::vector<tenant_figures> below;
    std::copy_if(std::make_move_iterator(tenants.begin()), std::make_move_iterator(tenants.end()),
                 std::back_inserter(below), [&](const auto &t) { return is_at_or_below(t.path, top); });
    if (below.empty() || below.front().path != top) throw failure(fmt::format("{}: there is no such tenant", top));
    return below;
}

std::size_t nr_living(const std::vector<process_entry> &processes) {
    return static_cast<std::size_t>(
        std::count_if(processes.begin(), processes.end(), [](const auto &p) { return p.lives(); }));
}

} // namespace allot
