// What a trace says in sum: operations, bytes and what lived at most, of all and by tenant, program image, thread and size.
//
// Threads: one. Owner: values. Cost: some additions an event.
// Invariants: 1. live = allocated - freed + what resizes and transfers moved, without images that have ended.
#pragma once

#include "tools/trace_reader.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace allot {

struct trace_counts {
    std::uint64_t allocs = 0, frees = 0, resizes = 0, transfers = 0, refusals = 0;
    std::uint64_t requested_bytes = 0; // of allocations
    std::uint64_t allocated_bytes = 0; // their blocks
    std::uint64_t live = 0, live_peak = 0;
    std::uint64_t live_peak_time = 0;
};

struct trace_size_counts {
    std::uint64_t allocs = 0, requested_bytes = 0, allocated_bytes = 0;
};

class trace_summary {
public:
    // Reads all of it.
    explicit trace_summary(trace_reader &);

    const trace_counts &all() const { return all_; }
    // By the reader's indices.
    const std::vector<trace_counts> &tenants() const { return tenants_; }
    const std::vector<trace_counts> &images() const { return images_; }
    const std::vector<trace_counts> &threads() const { return threads_; } // operations alone
    // By the power of two that blocks are at most of: [4] is 16 bytes.
    const std::array<trace_size_counts, 65> &sizes() const { return sizes_; }
    std::uint64_t begin() const { return begin_; } // of the first event
    std::uint64_t end() const { return end_; }     // of the last

private:
    void add(const trace_event &);
    void grow(const trace_event &);
    void count(trace_counts &, const trace_event &);
    void raise(const trace_event &, std::uint32_t tenant, std::uint64_t bytes);
    void lower(const trace_event &, std::uint32_t tenant, std::uint64_t bytes);
    void end_image(std::uint32_t image);

    trace_counts all_;
    std::vector<trace_counts> tenants_, images_, threads_;
    std::vector<std::map<std::uint32_t, std::uint64_t>> live_; // by image: bytes by tenant
    std::array<trace_size_counts, 65> sizes_{};
    std::uint64_t begin_ = 0, end_ = 0;
    bool has_begun_ = false;
};

} // namespace allot
