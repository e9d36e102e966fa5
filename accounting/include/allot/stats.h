/*
 * The numbers of statistics, events and options, for C and C++.
 *
 * They exist so that the place of an entry in a table is its number in the C API, in a region and in a tool, for good:
 * entries are appended and never reordered. Names, units and help texts are in the same tables; this header needs none.
 *
 * Units: plain enumerators. Ownership: nothing is owned. Threads: constants. Errors: none.
 */
#ifndef ALLOT_STATS_H
#define ALLOT_STATS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A line of memory.stat: allot_stat_slab is "slab". */
enum allot_stat {
#define ALLOT_STAT(id, kind, unit, since, help) allot_stat_##id,
#include <allot/stats.def>
#undef ALLOT_STAT
    allot_nr_stats
};

/* A line of memory.events: allot_event_max is "max". */
enum allot_event {
#define ALLOT_EVENT(id, since, help) allot_event_##id,
#include <allot/events.def>
#undef ALLOT_EVENT
    allot_nr_events
};

/* A setting of a process: allot_option_memory_max is "memory.max", ALLOT_MEMORY_MAX in the environment. */
enum allot_option {
#define ALLOT_OPTION(id, name, type, default_text, min, max, form, when, since, help) allot_option_##id,
#include <allot/options.def>
#undef ALLOT_OPTION
    allot_nr_options
};

#ifdef __cplusplus
}
#endif

#endif
