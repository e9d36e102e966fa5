// A stream of allocations and frees, each of which updates statistics: what the third experiment feeds to an engine.
//
// It comes from traces of real programs (<allot/trace.h>) or is made up, with its mix stated. Threads of a trace are tasks: the
// CPU that a task runs on, and the node of an object, follow from the rules of task_placement.
//
// Threads: one. Owner: values. Invariants: 1. Each free has its allocation before it, of the same size, owner and node.
//   2. `leftover` frees what lives after the last operation: a stream can be fed several times.
// Cost: 32 bytes an operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace allot::bench {

enum class update_kind : std::uint8_t { alloc, free };

struct update {
    std::uint64_t bytes; // of the block
    std::uint32_t thread, cpu, owner;
    update_kind kind;
    std::uint8_t node;
    bool is_reclaimable;
};

struct update_stream {
    std::vector<update> updates, leftover;
    std::uint32_t nr_threads = 1, nr_cpus = 1, nr_nodes = 1, nr_owners = 1;
    std::string mix; // in words
};

// Task t begins on CPU t modulo cpus, which belongs to node (CPU modulo nodes), and moves on to the next CPU every so many milliseconds of
// the trace, 0: never. An object lies on the node of the CPU that allocated it.
struct task_placement {
    std::uint64_t cpus = 8, nodes = 2, migrate_ms = 0;
};

// Who is charged: the tenants that the trace names, or each program image by itself, as if each ran in a cgroup of its own.
enum class owner_rule : std::uint8_t { tenant, image };

// Throws what the reader of traces throws.
[[nodiscard]] update_stream stream_of_traces(const std::vector<std::string> &files, const task_placement &, owner_rule);

// "seed", "alloc-N": allocations alone, each of which costs N bytes; "pair-N": allocated and freed in turn. fail() for others.
[[nodiscard]] update_stream made_up_stream(const std::string &name, std::uint64_t updates);
inline constexpr char made_up_streams[] = "seed, alloc-N or pair-N, N from 9 to 8200 bytes";

} // namespace allot::bench
