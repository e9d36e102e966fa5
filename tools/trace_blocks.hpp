// A trace file (<allot/trace.h>) as blocks, and a block as records.
//
// It exists between bytes, which may be anything, and events (trace_reader.hpp), whose numbers are at least numbers.
//
// Threads: one. Owner: the object owns the open file.
// Invariants: 1. Nothing that a file says about itself is believed: each length is held against what is there.
// Cost: opening reads 64 bytes a slot; a block is read when it is asked for.
#pragma once

#include <allot/trace.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace allot {

struct trace_record {
    std::uint32_t kind = 0;
    std::uint32_t nr_numbers = 0;
    std::array<std::uint64_t, 7> numbers{}; // what the record does not have is 0
    std::string_view text;                  // in the bytes it was read from
};

enum class trace_step { record, end, torn };

// Reads one record off the front of what is left of a block.
[[nodiscard]] trace_step read_trace_record(std::string_view &rest, trace_record &);

struct trace_block_place {
    std::uint64_t offset; // of the file, where records begin
    std::uint64_t bytes;
    allot_trace_block head;
};

// pid, image_started, stream
using trace_stream_key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;

class trace_blocks {
public:
    // Throws `failure`: it cannot be read, is no trace, or is one of another major version.
    explicit trace_blocks(const std::string &path);
    ~trace_blocks();
    trace_blocks(const trace_blocks &) = delete;
    trace_blocks &operator=(const trace_blocks &) = delete;

    const allot_trace_header &header() const { return header_; }
    // Each stream's blocks by their sequence; of blocks with the same number the first.
    const std::map<trace_stream_key, std::vector<trace_block_place>> &streams() const { return streams_; }
    [[nodiscard]] std::string read(const trace_block_place &) const;

    std::uint64_t nr_empty() const { return nr_empty_; }     // slots that were claimed and not written
    std::uint64_t nr_damaged() const { return nr_damaged_; } // slots that are neither that nor part of a block
    std::uint64_t nr_missing() const { return nr_missing_; } // gaps in the sequences
    std::uint64_t nr_cut() const { return nr_cut_; }         // blocks that the file ends in

private:
    void read_header();
    void find_blocks();
    void sort_streams();
    std::size_t read_at(void *, std::size_t bytes, std::uint64_t offset) const;

    std::string path_;
    int fd_ = -1;
    std::uint64_t file_bytes_ = 0;
    allot_trace_header header_{};
    std::map<trace_stream_key, std::vector<trace_block_place>> streams_;
    std::uint64_t nr_empty_ = 0, nr_damaged_ = 0, nr_missing_ = 0, nr_cut_ = 0;
};

} // namespace allot
