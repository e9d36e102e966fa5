// What /proc says of processes.
//
// It exists so that who is alive, stopped or another one by now is asked in one way: a process id alone is used again.
//
// Threads: any; nothing is kept. Owner: nobody.
// Cost: three system calls for a stat file, one for a link.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

// Of /proc/PID/stat. All zeros: there is no such process, or no /proc that counts ids as this process does.
struct proc_stat {
    char state; // R, S, D, T, t, Z, X, ...
    std::uint64_t parent, nr_threads;
    std::uint64_t start_time; // clock ticks since boot
    std::uint64_t
        start_of_stack; // 0 or 1 for those the kernel hides addresses from, and once a process has none any more
};
[[nodiscard]] proc_stat proc_stat_of(std::uint32_t pid);
[[nodiscard]] proc_stat proc_stat_of_thread(std::uint32_t pid, std::uint32_t thread);

// A leader that has ended by itself is a zombie as long as other threads live.
[[nodiscard]] inline bool has_ended(const proc_stat &s) {
    return s.state == 'X' || s.state == 'x' || (s.state == 'Z' && s.nr_threads <= 1);
}
// By a signal or a debugger.
[[nodiscard]] inline bool is_stopped(const proc_stat &s) { return s.state == 'T' || s.state == 't'; }

// The inode number of this process's pid namespace: within it, ids mean the same. 0: unknown.
[[nodiscard]] std::uint64_t proc_pid_namespace();

// The path of this process's executable, cut to fit and terminated; what is returned is its last part, in it. Empty when unknown.
const char *proc_executable(char *path, std::size_t size);

} // namespace allot
