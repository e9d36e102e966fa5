// A run with what a renderer can meet: two images and a file that could not be read, limits and none, events and none.
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
    tenant_figures other;
    other.path = "/";
    other.peak = 4096;
    other.max = other.high = unlimited;

    run_figures run;
    run.command = {"sh", "-c", "work"};
    run.status = 137;
    run.signal = 9;
    run.images.resize(3);
    run.images[0] = {4, "sh", image_state::ended, {root, web}, "", 0, 0};
    run.images[1] = {5, "work", image_state::exited, {other}, "", 0, 0};
    run.images[2].problem = "torn";
    return run;
}

} // namespace allot
