// What a run used, as numbers: the books of each program image, and their sum.
//
// They exist between the region, which is read here, and the renderers, which know nothing of it.
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
    std::uint64_t current = 0;
    std::uint64_t peak = 0;
    std::uint64_t min = 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0; // of limits, `unlimited` is none
    std::uint64_t max = 0;
    std::array<std::uint64_t, allot_nr_events> events{};
    std::array<std::uint64_t, allot_nr_stats> stats{};
};

// running: it outlived the reading; exited: through exit(); ended: otherwise, by _exit, exec or a signal, which do not pass
// by anybody who could note it; unknown: of another pid namespace.
enum class image_state { running, exited, ended, unknown };

// A program image is one process between two execs: what it was charged goes with it.
struct image_figures {
    std::uint32_t pid = 0;
    std::string program;
    image_state state = image_state::unknown;
    std::vector<tenant_figures> tenants; // a parent before its children
    std::string problem;                 // why its file could not be read; empty: it was
    std::uint64_t uncounted = 0;         // bytes mapped and charged to nobody, with account: heap
    std::uint64_t uncounted_peak = 0;
};

struct run_figures {
    std::vector<std::string> command;
    int status = 0;
    int signal = 0;
    std::vector<image_figures> images; // oldest first
};

// The images as one: usage, events and statistics are sums; a peak is the highest of any image, since images do not peak
// together; limits are those of the first image that has the tenant.
[[nodiscard]] std::vector<tenant_figures> sum_of(const std::vector<image_figures> &);

// The order of a tree: a parent before its children, and these before its next sibling.
[[nodiscard]] bool comes_before(const std::string &a, const std::string &b);

// "running", "exited", "ended", "unknown"
[[nodiscard]] const char *word_of(image_state);

} // namespace allot
