// A trace as events: all streams of one or several files in the order of time, with each free and resize beside the
// allocation that it is about.
//
// It exists so that whoever looks at a trace or replays it meets numbers alone: which image, which thread, which tenant.
//
// Threads: one. Owner: the reader; event and tables are values.
// Invariants: 1. Whatever the bytes are: events end, times do not go back, and each free that is known has had an allocation of the
//   same image and address since the free before it.
//   2. What is lost or damaged is counted, and the rest is read.
// Cost: one block a stream in memory, and an entry a live block.
#pragma once

#include "tools/trace_blocks.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace allot {

enum class trace_event_kind : std::uint8_t {
    alloc,
    free,
    resize,
    transfer,
    refused,
    image_ends, // its last record came before; what is live in it goes with it
};

struct trace_event {
    trace_event_kind kind = trace_event_kind::alloc;
    // False: of a block whose allocation is not in the trace. What that would have said is 0, the tenant that of the path "".
    bool is_known = true;
    // A free that is not in the trace, but the same address was allocated again.
    bool is_implied = false;
    std::uint32_t image = 0, thread = 0; // whose operation it is
    std::uint32_t tenant = 0;            // that pays; of a transfer: from now on
    std::uint32_t tenant_before = 0;     // of a transfer
    std::uint64_t time = 0;              // nanoseconds of the trace's clock
    std::uint64_t address = 0;
    std::uint64_t requested = 0, usable = 0; // of the block; of a resize: from now on
    std::uint64_t usable_before = 0;         // of a resize
};

struct trace_image_facts {
    std::uint32_t pid = 0, parent = 0;
    std::uint64_t started = 0;
    std::string program;               // empty: not said
    std::uint64_t first = 0, last = 0; // times of records
};

struct trace_thread_facts {
    std::uint32_t image = 0, id = 0;
};

struct trace_damage {
    std::uint64_t empty_slots = 0;   // claimed by somebody who was killed before he could write
    std::uint64_t damaged_slots = 0; // of no block
    std::uint64_t missing_blocks = 0;
    std::uint64_t cut_blocks = 0;
    std::uint64_t torn_records = 0; // the rest of their blocks is not read
    std::uint64_t unknown_records = 0;
    std::uint64_t lost_records = 0;   // by handlers, when they were to be written
    std::uint64_t unknown_blocks = 0; // frees and the like of what the trace does not have
    std::uint64_t implied_frees = 0;
    std::uint64_t stopped_images = 0; // whose recording ended before they did
    std::uint32_t stop_reason = 0;    // ALLOT_TRACE_STOPPED_...
};

class trace_reader {
public:
    explicit trace_reader(const std::vector<std::string> &files); // throws `failure`
    ~trace_reader();
    trace_reader(const trace_reader &) = delete;
    trace_reader &operator=(const trace_reader &) = delete;

    // False: there are no more.
    [[nodiscard]] bool next(trace_event &);

    // They grow while events are read.
    const std::vector<trace_image_facts> &images() const { return images_; }
    const std::vector<trace_thread_facts> &threads() const { return threads_; }
    const std::vector<std::string> &tenants() const { return tenants_; } // paths; the first is "", of what is not known
    const trace_damage &damage() const { return damage_; }
    std::uint64_t nr_records() const { return nr_records_; }

private:
    class cursor;
    struct live_block {
        std::uint64_t requested, usable;
        std::uint32_t tenant;
    };
    using live_blocks = std::unordered_map<std::uint64_t, live_block>;

    void add_file(const std::string &path);
    bool advance(std::uint32_t cursor);
    [[nodiscard]] bool is_later(std::uint32_t a, std::uint32_t b) const;
    void match(trace_event &);
    void match_alloc(trace_event &, live_blocks &);
    std::uint32_t image_of(const trace_stream_key &);
    std::uint32_t thread_of(std::uint32_t image, std::uint32_t id);
    std::uint32_t tenant_of(std::string_view path);

    std::vector<std::unique_ptr<trace_blocks>> files_;
    std::vector<std::unique_ptr<cursor>> cursors_;
    std::vector<std::uint32_t> heap_; // cursors with an event, the earliest on top
    std::deque<trace_event> ready_;
    std::vector<trace_image_facts> images_;
    std::vector<std::uint32_t> streams_left_; // by image
    std::vector<live_blocks> live_;           // by image
    std::vector<trace_thread_facts> threads_;
    std::vector<std::string> tenants_{""};
    std::unordered_map<std::string, std::uint32_t> tenant_index_{{"", 0}};
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> image_index_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> thread_index_;
    trace_damage damage_;
    std::uint64_t nr_records_ = 0;
};

} // namespace allot
