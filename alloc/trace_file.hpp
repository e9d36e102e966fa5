// The file of a trace (<allot/trace.h>), as this process writes to it: opened or made, and claimed block by block.
//
// Blocks are mapped, shared, and nothing is ever flushed: what was written is in the file when the process is killed. The
// file is opened by name for each block and closed again: a descriptor that is kept would be closed by programs
// that close what they do not know, and its number would be another file's then.
//
// Threads: open before there are others, or in the child of a fork; claim and stop any.
// Owner: the header stays mapped for ever; a block is its stream's.
// Invariants: 1. What is no trace is never written to. 2. The file reaches to a block's end before the block is mapped: no
//   access of ours raises SIGBUS. 3. No two blocks overlap, whichever processes claim them.
// Cost: a claim is seven system calls, once in some thousand records.
#pragma once

#include <allot/trace.h>

#include <cstddef>
#include <cstdint>

namespace allot {

enum class trace_problem : std::uint32_t {
    none,
    name_too_long,
    cannot_be_opened, // or made
    not_a_trace,      // it is not empty and something else, or no regular file
    other_version,
    replaced, // the name stands for another file by now
    no_space,
    no_memory,
    forbidden, // seccomp may have been set up: no system call is made any more
    of_parent, // the stream of a process that this one was forked from
};

// Absolute. Until the next call it is the file of this process.
[[nodiscard]] trace_problem trace_file_open(const char *path);
const char *trace_file_name();

struct trace_space {
    unsigned char *start; // zeroed, nr_slots slots; nullptr: see problem
    std::size_t bytes;
    trace_problem problem;
};
[[nodiscard]] trace_space trace_file_claim(std::uint32_t nr_slots);
void trace_file_unmap(const trace_space &);

// For readers: this image has ended recording.
void trace_file_note_stopped(trace_problem);

// What it is for messages: "... FILE <sentence>".
const char *sentence_of(trace_problem);

} // namespace allot
