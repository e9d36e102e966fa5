// Processes: who makes charges in a region, and whether they still live.
//
// They exist so that a reader outside can say which program a bill is of and how it ended, also after SIGKILL, and so
// that later a dead process's charges can be told from a living one's.
//
// Threads: this process's record is written at start and at exit; read by anyone.
// Owner: the region.
// Invariants: a process is its id and its start time, in its pid namespace: an id alone is reused.
// Cost: start reads two small files of /proc.
#pragma once

#include "accounting/base/report.hpp"
#include "accounting/region.hpp"

#include <atomic>
#include <cstdint>

namespace allot {

enum class process_state : std::uint32_t { unused, running, exited };

inline constexpr std::uint32_t process_name_bytes = 64;
inline constexpr std::uint32_t process_path_bytes = 256;

struct process {
    static constexpr table in = table::processes;

    std::uint32_t pid;
    // Written by the process itself; read by others, acquire. A process that is dead and not `exited` was ended by a
    // signal, by _exit, or by exec.
    std::atomic<process_state> state;
    std::uint64_t start_time;     // of /proc/PID/stat, in clock ticks since boot
    std::uint64_t start_of_stack; // differs after exec, where the id and the start time stay
    std::uint32_t parent;         // pid
    std::uint32_t index, free_next;
    std::uint32_t unused;
    char name[process_name_bytes];       // file name of the executable, cut to fit
    char executable[process_path_bytes]; // its whole path, cut to fit
    // Bytes that the process has mapped writable and that nobody is charged for (option account: heap), now and at most.
    // Written by the process, read by reports; relaxed: nobody decides on them.
    std::atomic<std::uint64_t> uncounted, uncounted_peak;
    char padding[72];
};
static_assert(sizeof(process) % cache_line_bytes == 0);

// Writes this process's record. Registry lock not needed: called before anyone else can.
[[nodiscard]] std::uint32_t process_register();

// Of this process: so many more bytes are mapped and not charged, or fewer. Never below zero.
void process_note_uncounted(std::int64_t bytes);

struct process_identity {
    std::uint64_t start_time, start_of_stack;
};
[[nodiscard]] process_identity identity_of(std::uint32_t pid); // zeros: there is no such process, or no /proc
[[nodiscard]] bool process_is_alive(std::uint32_t pid, process_identity);
[[nodiscard]] std::uint64_t pid_namespace();

} // namespace allot
