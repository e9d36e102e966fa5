// DIR/HIERARCHY: the folder with the file that all processes of a hierarchy share, as long as a run needs it.
//
// It exists so that the command can read what processes were charged after they are gone, SIGKILL included, and so that
// memory does not stay behind.
//
// Threads: one. Owner: the object removes the folder that it named itself, with what is in it, when it goes; one whose name
//   was given stays, so that others can join and look.
// Invariants: 1. DIR belongs to this user alone (mode 0700, no link), so nobody else plants files in it.
//             2. A folder is in use as long as a run has it: each holds an advisory lock on it, which the kernel drops at its
//                death. One that no run has and in which no process lives is a leftover.
//             3. Leftovers named run-... are removed by the next run.
// Cost: a few system calls.
#pragma once

#include <string>

namespace allot {

// /dev/shm/allot-UID
[[nodiscard]] std::string default_dir();

enum class folder_was { there, missing };

// Makes DIR if it is missing. Throws `failure` when it is not a folder of this user alone.
folder_was prepare_dir(const std::string &dir);

// True: a name for a folder in DIR: not empty, no slash, not "." or "..", at most 63 bytes.
[[nodiscard]] bool is_hierarchy_name(const std::string &name);

// Removes DIR/NAME and what is in it. False: a run has it. Whether processes live in it is the caller's question. Throws
// `failure`.
[[nodiscard]] bool remove_hierarchy(const std::string &dir, const std::string &name);

class hierarchy_folder {
public:
    // Empty name: run-PID, with a number behind it if that is taken, and removed at the end. Throws `failure`.
    hierarchy_folder(const std::string &dir, const std::string &name);
    ~hierarchy_folder();
    hierarchy_folder(const hierarchy_folder &) = delete;
    hierarchy_folder &operator=(const hierarchy_folder &) = delete;

    const std::string &dir() const { return dir_; }
    const std::string &name() const { return name_; }

private:
    enum class claim { alone, with_others };
    bool take(const std::string &name, claim);

    std::string dir_;
    std::string name_;
    folder_was dir_was_; // one that was missing goes when the last run in it ends
    bool is_own_ = false;
    int lock_ = -1;
};

} // namespace allot
