#include "tools/hierarchy_folder.hpp"

#include "tools/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace allot {

namespace fs = std::filesystem;

std::string default_dir() { return fmt::format("/dev/shm/allot-{}", geteuid()); }

folder_was prepare_dir(const std::string &dir) {
    const bool was_made = mkdir(dir.c_str(), 0700) == 0;
    if (!was_made && errno != EEXIST) throw failure(fmt::format("{}: cannot be made: {}", dir, strerror(errno)));
    struct stat st;
    if (lstat(dir.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) throw failure(fmt::format("{}: is not a folder", dir));
    if (st.st_uid != geteuid()) throw failure(fmt::format("{}: belongs to another user", dir));
    if ((st.st_mode & 077) != 0) throw failure(fmt::format("{}: is open to other users; expected mode 0700", dir));
    return was_made ? folder_was::missing : folder_was::there;
}

bool is_hierarchy_name(const std::string &name) {
    return !name.empty() && name.size() <= 63 && name != "." && name != ".." && name.find('/') == std::string::npos;
}

namespace {

// The folder, locked; -1: somebody who lives has it, or it went away meanwhile.
int locked_folder(const std::string &folder) {
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) throw failure(fmt::format("{}: cannot be opened: {}", folder, strerror(errno)));
    if (fd < 0) return -1;
    // Between its opening and its locking, a sweep may have removed it: the lock is then of a folder without a name.
    struct stat opened, named;
    const bool is_ours = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0 &&
                         lstat(folder.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
    if (is_ours) return fd;
    close(fd);
    return -1;
}

// A file of books is named PID-STARTTIME. An id that was given to another process since only delays the sweep.
bool belongs_to_a_living_process(const fs::path &file) {
    const int pid = std::atoi(file.filename().c_str());
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

// Removes what runs left behind that were ended by SIGKILL, once their processes have gone too: it is memory.
void sweep(const std::string &dir) {
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(dir, ignored)) {
        if (!entry.path().filename().string().starts_with("run-") || !entry.is_directory(ignored)) continue;
        const int lock = locked_folder(entry.path());
        if (lock < 0) continue;
        const fs::directory_iterator files(entry.path(), ignored);
        const bool in_use =
            std::any_of(begin(files), end(files), [](const auto &f) { return belongs_to_a_living_process(f); });
        if (!in_use) fs::remove_all(entry.path(), ignored);
        close(lock);
    }
}

} // namespace

hierarchy_folder::hierarchy_folder(const std::string &dir, const std::string &name) : dir_(dir) {
    dir_was_ = prepare_dir(dir_);
    sweep(dir_);
    if (!name.empty()) {
        if (!take(name)) throw failure(fmt::format("hierarchy {}: is in use by another allot run", name));
        return;
    }
    constexpr int most_tries = 100; // taken only by a nested run of a process with this id elsewhere
    for (int i = 0; i < most_tries; ++i)
        if (take(i == 0 ? fmt::format("run-{}", getpid()) : fmt::format("run-{}-{}", getpid(), i))) return;
    throw failure(fmt::format("{}: no name for a hierarchy is free", dir_));
}

// False: somebody who lives uses it.
bool hierarchy_folder::take(const std::string &name) {
    const std::string folder = dir_ + "/" + name;
    int error = mkdir(folder.c_str(), 0700) == 0 ? 0 : errno;
    if (error == ENOENT) { // the run that had made the folder has ended and taken it away
        dir_was_ = prepare_dir(dir_);
        error = mkdir(folder.c_str(), 0700) == 0 ? 0 : errno;
    }
    if (error != 0 && error != EEXIST) throw failure(fmt::format("{}: cannot be made: {}", folder, strerror(error)));
    const int fd = locked_folder(folder);
    if (fd < 0) return false;
    lock_ = fd;
    name_ = name;
    for (const std::string &leftover : files()) unlink(leftover.c_str());
    return true;
}

hierarchy_folder::~hierarchy_folder() {
    std::error_code ignored;
    fs::remove_all(path(), ignored);
    if (dir_was_ == folder_was::missing) rmdir(dir_.c_str()); // fails while others use it
    close(lock_);
}

std::vector<std::string> hierarchy_folder::files() const {
    // By inode number, which grows with each file that is made on tmpfs: the times of a mapped file say nothing of it.
    std::vector<std::pair<ino_t, std::string>> found;
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(path(), ignored)) {
        struct stat st;
        if (lstat(entry.path().c_str(), &st) == 0 && S_ISREG(st.st_mode))
            found.emplace_back(st.st_ino, entry.path().string());
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> paths;
    for (const auto &[number, path] : found) paths.push_back(path);
    return paths;
}

} // namespace allot
