// Figures of a shared hierarchy, as whoever looks at it from outside sees them, and what must hold between them.
//
// They exist so that the command, reports and metrics read one file and not each process: what a process knows of itself
// alone (what was requested, what its allocator keeps) is not here.
//
// Threads: any. Owner: the caller, of the records that are filled in.
// Invariants: 1. Nothing in the file is trusted: of one that was damaged the figures are wrong, and nothing else happens.
//             2. current + stock = usage, but where current would be negative.
// Cost: one pass over all nodes, accounts, contexts and members in use; two system calls for each living process.
#pragma once

#include "accounting/shared/layout.hpp"

#include <allot/stats.h>

#include <cstdint>

namespace allot::shared {

struct node_figures {
    bool is_living;
    std::uint8_t on_refusal, kills_group, throttle; // as in tenant.hpp
    std::uint32_t parent, depth;
    std::uint32_t descendants_max;
    std::uint32_t nr_descendants;                // living nodes below
    std::uint32_t nr_processes, nr_threads;      // living ones at the node and below; threads that have a context there
    std::uint64_t usage, current, peak;          // of the node and all below
    std::uint64_t min, low, high, max, headroom; // `unlimited` is none
    std::uint64_t charged;                       // the sum of the accounts at the node and below
    std::uint64_t events[allot_nr_events], events_local[allot_nr_events];
    std::int64_t stats[allot_nr_stats]; // of the node and all below; see is_known_outside
};

// Whether a statistic can be told without asking the processes.
[[nodiscard]] bool is_known_outside(std::uint32_t stat);

// Indices of nodes are below it.
[[nodiscard]] std::uint32_t nodes_end();
// all[index] of each node with an index below `end`; all[0] is nobody's.
void read_node_figures(node_figures *all, std::uint32_t end);

// running: it lives; stopped: and does not run; exited: it is gone, after it said that it would; ended: by _exit, exec, or a
// signal, which do not pass by anybody who could note it.
enum class process_condition : std::uint32_t { none, running, stopped, exited, ended };
struct process_figures {
    process_condition condition; // none: the record is not in use
    std::uint32_t pid;
    std::uint32_t node; // its own tenant
    std::uint64_t born; // grows with each process of the hierarchy
    std::uint64_t charged, peak;
    std::uint64_t uncounted, uncounted_peak;
};

[[nodiscard]] std::uint32_t members_end();
// all[index] of each member with an index below `end`. Its name is in the member's record.
void read_process_figures(process_figures *all, std::uint32_t end);

// --- the recount from outside -----------------------------------------------------------------------------------------------

struct figures_check {
    bool was_quiet;            // a moment was found in which no operation was under way; else nothing was compared
    std::uint64_t nodes;       // looked at
    std::uint64_t differences; // 0: everything holds
    char first[256];           // the first one, as a sentence; empty if there is none
};

// Of `top` and below: each usage is the sum of the accounts, no account has less than its lines and contexts say, no figure is
// absurd. What differs is looked at again, `attempts` times in all, since processes go on meanwhile. `room` is for nodes_end()
// records.
[[nodiscard]] figures_check check_figures(std::uint32_t top, node_figures *room, std::uint32_t attempts);

} // namespace allot::shared
