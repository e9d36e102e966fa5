// What a report of usage looks like, as text and as JSON: the columns, the words and their order, and nothing else.
//
// It exists because two write reports: the command, of all processes of a run, from the hierarchy's file; and the library, of
// its own process at its end. Neither knows more than its own figures; both are told apart by nobody.
//
// The calls come in this order, [] once for each: [command] ending [tenant]... processes [process]... end. Of text, all
// measure-s come first.
//
//     {"command": [...], "status": N,
//      "tenants": [{"path", "current", "peak", "min", "low", "high", "max", "events": {...}, "stat": {...}}...],
//      "processes": [{"pid", "program", "state", "peak"}...]}
//
// Threads: an object belongs to one thread. Owner: the caller, of the sink and of every text.
// Invariants: 1. JSON is valid whatever bytes a text holds: what is not UTF-8 is replaced.
//             2. Text cannot steer a terminal through the name of a tenant.
// Cost: no allocation; linear in the text.
#pragma once

#include "accounting/text_sink.hpp"

#include <allot/stats.h>

#include <cstddef>
#include <cstdint>

namespace allot {

struct tenant_row {
    const char *path;
    std::uint64_t current, peak;
    std::uint64_t min, low, high, max; // `unlimited` is none
    std::uint64_t events[allot_nr_events];
    std::uint64_t stats[allot_nr_stats];
};

// One program image: what exec put in its place is another one.
struct process_row {
    std::uint32_t pid;
    const char *program;
    const char *state; // "running", "stopped", "exited", "ended"
    std::uint64_t peak;
    std::uint64_t uncounted, uncounted_peak; // bytes mapped and charged to nobody, with account: heap
};

struct run_ending {
    int status;
    int signal;              // 0: it ended by itself
    const char *signal_name; // "KILL", or nullptr where it has none
};

class text_report {
public:
    explicit text_report(text_sink &out) : out_(out) {}

    // Before all else, of every image and tenant: what the first column has to hold.
    void measure(const process_row &);
    void measure(const char *path);

    void command(const char *word);
    void ending(const run_ending &);
    void nothing_counted(); // instead of all that follows
    void headings();
    void tenant(const tenant_row &);
    void processes();
    void process(const process_row &);
    void and_more(std::uint64_t processes); // that are left out
    void end() { out_.flush(); }

private:
    void shown(const char *name);

    text_sink &out_;
    std::size_t width_ = 0;
    enum class place : std::uint32_t { start, command } place_ = place::start;
};

class json_report {
public:
    explicit json_report(text_sink &out) : out_(out) {}

    void command(const char *word);
    void ending(const run_ending &);
    void tenant(const tenant_row &);
    void processes(); // there are no more tenants
    void process(const process_row &);
    void end();

private:
    void separate(); // a comma before every element but a list's first
    void key(const char *name);
    void string(const char *text);
    void limit(std::uint64_t bytes);

    text_sink &out_;
    enum class place : std::uint32_t { start, list_begins, in_list } place_ = place::start;
};

} // namespace allot
