// A run with what a renderer can meet: two processes, limits and none, events and none.
#pragma once

#include "accounting/base/units.hpp"
#include "tools/figures.hpp"

namespace allot {

inline run_figures example_run() {
    tenant_figures root;
    root.path = "/";
    root.current = 1024;
    root.peak = root.max = std::uint64_t{64} << 20;
    root.high = unlimited;
    root.events[allot_event_max] = 9;
    root.events[allot_event_oom] = 7;
    root.stats[allot_stat_slab] = 1024;
    root.stats[allot_stat_objects] = 2;
    tenant_figures web;
    web.path = "/web";
    web.current = 3;
    web.peak = 4;
    web.max = 12999999999;
    web.high = 5;
    web.low = 6;
    web.min = 7;
    run_figures run;
    run.command = {"sh", "-c", "work"};
    run.status = 137;
    run.signal = 9;
    run.tenants = {root, web};
    run.processes.resize(2);
    run.processes[0] = {4, "sh", process_life::ended, "/", 1024, std::uint64_t{64} << 20, 0, 0, 1, 1};
    run.processes[1] = {5, "work", process_life::exited, "/web", 0, 4096, 0, 0, 2, 2};
    return run;
}

} // namespace allot
