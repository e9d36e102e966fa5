// DIR/HIERARCHY: the folder in which every process of a run keeps its books, one file for each program image.
//
// It exists so that the command can read what a process was charged after that process is gone, SIGKILL included.
//
// Threads: one. Owner: the object removes the folder it made, with what is in it, when it goes.
// Invariants: 1. DIR belongs to this user alone (mode 0700, no link), so nobody else plants files in it.
//             2. A folder is in use as long as its maker lives: it holds an advisory lock on it, which the kernel drops
//                at its death. A folder without a lock is a leftover and is taken over.
//             3. Folders run-... that nobody holds, and whose processes have gone, are removed by the next run.
// Cost: a few system calls.
#pragma once

#include <string>
#include <vector>

namespace allot {

// /dev/shm/allot-UID
[[nodiscard]] std::string default_dir();

enum class folder_was { there, missing };

// Makes DIR if it is missing. Throws `failure` when it is not a folder of this user alone.
folder_was prepare_dir(const std::string &dir);

// True: a name for a folder in DIR: not empty, no slash, not "." or "..", at most 63 bytes.
[[nodiscard]] bool is_hierarchy_name(const std::string &name);

class hierarchy_folder {
public:
    // Empty name: run-PID, with a number behind it if that is taken. Throws `failure`.
    hierarchy_folder(const std::string &dir, const std::string &name);
    ~hierarchy_folder();
    hierarchy_folder(const hierarchy_folder &) = delete;
    hierarchy_folder &operator=(const hierarchy_folder &) = delete;

    const std::string &dir() const { return dir_; }
    const std::string &name() const { return name_; }
    // Of the regular files in it, oldest first.
    [[nodiscard]] std::vector<std::string> files() const;

private:
    bool take(const std::string &name);
    std::string path() const { return dir_ + "/" + name_; }

    std::string dir_;
    std::string name_;
    folder_was dir_was_; // one that was missing goes when the last run in it ends
    int lock_ = -1;
};

} // namespace allot
