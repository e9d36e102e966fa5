// A stream of a trace: the records of one home, written into blocks of the file.
//
// Threads: the home's own, and its signal handlers, which may interrupt any instruction of it: what they have to say is put
//   aside, and written by whom they interrupted.
// Owner: the home, which is wiped in the child of a fork: the child begins a stream of its own. One that was made in the
//   middle of a record, by a handler, goes on in its copy of its parent's stream, which therefore lies in memory that is not
//   wiped, and writes nothing more there, or the very bytes that its parent writes at that place.
// Invariants: 1. A record's first byte is written after the others: it is there as a whole or not at all.
//   2. Time does not go back within a stream. 3. A block says by itself all that its records need.
// Cost: a reading of the clock and some ten bytes a record.
#pragma once

#include "alloc/trace_file.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot {

// Who writes; one a process image.
struct trace_image {
    std::uint32_t pid, parent;
    std::uint64_t started;
    char program[256];
    std::atomic<std::uint32_t> nr_streams; // added to by each thread that begins one; relaxed: a number
};

struct trace_event {
    allot_trace_kind kind; // THREAD, WORKS_FOR, OWNER, LOST and PROGRAM come by themselves
    std::uint64_t address; // none of REFUSED
    std::uint64_t requested, usable;
    std::uint32_t owner; // of ALLOC and TRANSFER
};

class trace_stream {
public:
    explicit trace_stream(trace_image &image) : image_(image), image_started_(image.started) {}
    // problem: none, or why the stream cannot go on; nothing is written any more then.
    [[nodiscard]] trace_problem add(const trace_event &);

private:
    static constexpr std::uint32_t nr_known = 64, nr_postponed_max = 16;
    struct known_owner {
        std::uint32_t owner, hash; // of its path
    };

    class record;
    void postpone(const trace_event &);
    void write_postponed();
    void write(const trace_event &);
    bool has_room() const;
    [[nodiscard]] bool is_copy_in_a_child() const;
    void begin_block();
    void fill_head(std::uint32_t nr_slots);
    void say_thread();
    void say_owner(std::uint32_t owner);
    void say_works_for(std::uint32_t owner);
    void put(const record &, const char *text = "");
    [[nodiscard]] std::uint64_t difference_to(std::uint64_t address);

    // A handler that finds it set has interrupted add(). Written by the thread alone.
    std::atomic<bool> inside_{false};
    trace_problem problem_ = trace_problem::none;
    std::uint32_t number_ = 0, sequence_ = 0, thread_ = 0;
    std::uint32_t owner_ = 0; // 0: the block has not said one
    trace_image &image_;
    const std::uint64_t image_started_; // of the image whose stream it is
    trace_space block_{};
    unsigned char *at_ = nullptr;
    std::uint64_t time_ = 0, now_ = 0, address_ = 0;
    known_owner known_[nr_known]{};
    // By handlers, each of which ends before whom it interrupts goes on: a place is claimed by one addition, then filled.
    std::atomic<std::uint32_t> nr_postponed_{0};
    std::atomic<std::uint32_t> nr_lost_{0};
    trace_event postponed_[nr_postponed_max]{};
};

} // namespace allot
