// The environment and the auxiliary vector of this process, readable before libc is initialised.
//
// It exists because a preloaded library may be asked for memory before libc has set `environ`, and because programs
// clear or overwrite it later; then the kernel's copy in /proc/self is read.
//
// Threads: one thread at a time (the one that parses the options). Owner: the object owns a mapping it may have made.
// Invariants: 1. An entry is valid until the object ends.
// Cost: no system call while `environ` is there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

class process_environment {
public:
    // `given` is what a constructor was handed, or nullptr for whatever can be found.
    explicit process_environment(char **given);
    ~process_environment();
    process_environment(const process_environment &) = delete;
    process_environment &operator=(const process_environment &) = delete;

    // Entries "NAME=value" up to nullptr. Empty when nothing could be read.
    char *const *entries() const { return entries_; }

private:
    void read_proc();

    char **entries_;
    std::uintptr_t mapping_ = 0;
    std::size_t mapping_bytes_ = 0;
};

// The program runs with more rights than the user who started it: his environment must not steer it.
[[nodiscard]] bool process_is_secure();

// File name of what execve was given: for a script its own name. Cut to size, terminated; empty when unknown.
void program_file_name(char *out, std::size_t size);

// File name of the binary that runs: for a script its interpreter. Cut to size, terminated; empty when unknown.
void executable_file_name(char *out, std::size_t size);

} // namespace allot
