#include "tools/hierarchy_folder.hpp"

#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "tools/errors.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

// The folder, locked; -1: a run has it, or it went away meanwhile.
int locked_folder(const std::string &folder, int how) {
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) throw failure(fmt::format("{}: cannot be opened: {}", folder, strerror(errno)));
    if (fd < 0) return -1;
    // Between its opening and its locking, a sweep may have removed it: the lock is then of a folder without a name.
    struct stat opened, named;
    const bool is_ours = flock(fd, how | LOCK_NB) == 0 && fstat(fd, &opened) == 0 &&
                         lstat(folder.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
    if (is_ours) return fd;
    close(fd);
    return -1;
}

// A file of another version may have processes that this command does not know of.
bool has_processes(const std::string &dir, const std::string &name) {
    switch (shared::attach_copy(dir.c_str(), name.c_str()).error) {
    case shared::attach_error::none: break;
    case shared::attach_error::not_there:
    case shared::attach_error::not_a_file: return false;
    default: return true;
    }
    const bool has_some = shared::next_member(1) != 0;
    shared::detach();
    return has_some;
}

// Removes what runs left behind that were ended by SIGKILL, once their processes have gone too: it is memory.
void sweep(const std::string &dir) {
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(dir, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("run-") || !entry.is_directory(ignored)) continue;
        const int lock = locked_folder(entry.path(), LOCK_EX);
        if (lock < 0) continue;
        if (!has_processes(dir, name)) fs::remove_all(entry.path(), ignored);
        close(lock);
    }
}

} // namespace

bool remove_hierarchy(const std::string &dir, const std::string &name) {
    const int lock = locked_folder(dir + "/" + name, LOCK_EX);
    if (lock < 0) return false;
    std::error_code problem;
    fs::remove_all(dir + "/" + name, problem);
    close(lock);
    if (problem) throw failure(fmt::format("{}/{}: cannot be removed: {}", dir, name, problem.message()));
    return true;
}

hierarchy_folder::hierarchy_folder(const std::string &dir, const std::string &name) : dir_(dir) {
    dir_was_ = prepare_dir(dir_);
    sweep(dir_);
    if (!name.empty()) {
        if (!take(name, claim::with_others)) throw failure(fmt::format("hierarchy {}: is being removed", name));
        return;
    }
    is_own_ = true;
    constexpr int most_tries = 100; // taken only by a nested run of a process with this id elsewhere
    for (int i = 0; i < most_tries; ++i)
        if (take(i == 0 ? fmt::format("run-{}", getpid()) : fmt::format("run-{}-{}", getpid(), i), claim::alone))
            return;
    throw failure(fmt::format("{}: no name for a hierarchy is free", dir_));
}

// False: somebody has it who does not share it.
bool hierarchy_folder::take(const std::string &name, claim how) {
    const std::string folder = dir_ + "/" + name;
    int error = mkdir(folder.c_str(), 0700) == 0 ? 0 : errno;
    if (error == ENOENT) { // the run that had made the folder has ended and taken it away
        dir_was_ = prepare_dir(dir_);
        error = mkdir(folder.c_str(), 0700) == 0 ? 0 : errno;
    }
    if (error != 0 && error != EEXIST) throw failure(fmt::format("{}: cannot be made: {}", folder, strerror(error)));
    const int fd = locked_folder(folder, how == claim::alone ? LOCK_EX : LOCK_SH);
    if (fd < 0) return false;
    if (how == claim::alone && error == EEXIST && has_processes(dir_, name)) { // they outlived a run of this id
        close(fd);
        return false;
    }
    lock_ = fd;
    name_ = name;
    if (how == claim::alone) unlink((folder + "/" + shared::file_name).c_str());
    return true;
}

hierarchy_folder::~hierarchy_folder() {
    if (is_own_) {
        std::error_code ignored;
        fs::remove_all(dir_ + "/" + name_, ignored);
        if (dir_was_ == folder_was::missing) rmdir(dir_.c_str()); // fails while others use it
    }
    close(lock_);
}

} // namespace allot
