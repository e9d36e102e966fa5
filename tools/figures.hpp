// What a hierarchy holds, as numbers: its tenants and its processes.
//
// They exist between the file of the hierarchy, which hierarchy_view reads, and the renderers, which know nothing of it.
//
// Threads: one. Owner: values. Cost: reading copies what it shows.
#pragma once

#include <allot/stats.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace allot {

struct tenant_figures {
    std::string path;
    std::uint64_t current = 0; // of this tenant and all below, as all figures but events_local
    std::uint64_t usage = 0;   // with what is charged ahead
    std::uint64_t peak = 0;
    std::uint64_t min = 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0; // of limits, `unlimited` is none
    std::uint64_t max = 0;
    std::uint64_t headroom = 0;
    std::array<std::uint64_t, allot_nr_events> events{};
    std::array<std::uint64_t, allot_nr_events> events_local{};
    std::array<std::uint64_t, allot_nr_stats> stats{};
    std::uint32_t nr_processes = 0; // living ones
    std::uint32_t nr_threads = 0;
    std::uint32_t nr_descendants = 0;
    std::uint32_t depth = 0; // 0: the root
    // Settings, as their files have them.
    std::uint32_t descendants_max = 0;
    std::uint8_t on_refusal = 0;
    std::uint8_t kills_group = 0;
    std::uint8_t throttle = 0;
};

// running: it lives; stopped: and does not run, as by SIGSTOP; exited: through exit(); ended: otherwise, by _exit, exec or a
// signal, which do not pass by anybody who could note it.
enum class process_life { running, stopped, exited, ended };

// A process is one program image here: what exec replaced is another one, under the same id.
struct process_entry {
    std::uint32_t pid = 0;
    std::string program;
    process_life state = process_life::ended;
    std::string tenant;        // its own; its threads may work for others
    std::uint64_t charged = 0; // bytes, now and at most
    std::uint64_t peak = 0;
    std::uint64_t uncounted = 0; // bytes mapped and charged to nobody, with account: heap
    std::uint64_t uncounted_peak = 0;
    std::uint64_t born = 0;   // grows with each process of a hierarchy
    std::uint32_t member = 0; // of its record in the file

    bool lives() const { return state == process_life::running || state == process_life::stopped; }
};

struct run_figures {
    std::vector<std::string> command;
    int status = 0;
    int signal = 0;
    std::vector<tenant_figures> tenants;  // a parent before its children
    std::vector<process_entry> processes; // oldest first
};

// The order of a tree: a parent before its children, and these before its next sibling.
[[nodiscard]] bool comes_before(const std::string &a, const std::string &b);

// Whether the tenant at `path` is the one at `top` or below it.
[[nodiscard]] bool is_at_or_below(const std::string &path, const std::string &top);

// "running", "stopped", "exited", "ended"
[[nodiscard]] const char *word_of(process_life);

} // namespace allot
