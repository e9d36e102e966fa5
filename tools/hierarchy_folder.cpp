#include "tools/hierarchy_folder.hpp"

#include "tools/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
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

void prepare_dir(const std::string &dir) {
    if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
        throw failure(fmt::format("{}: cannot be made: {}", dir, strerror(errno)));
    struct stat st;
    if (lstat(dir.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) throw failure(fmt::format("{}: is not a folder", dir));
    if (st.st_uid != geteuid()) throw failure(fmt::format("{}: belongs to another user", dir));
    if ((st.st_mode & 077) != 0) throw failure(fmt::format("{}: is open to other users; expected mode 0700", dir));
}

bool is_hierarchy_name(const std::string &name) {
    return !name.empty() && name.size() <= 63 && name != "." && name != ".." && name.find('/') == std::string::npos;
}

hierarchy_folder::hierarchy_folder(const std::string &dir, const std::string &name) : dir_(dir) {
    prepare_dir(dir_);
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
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        throw failure(fmt::format("{}: cannot be made: {}", folder, strerror(errno)));
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) throw failure(fmt::format("{}: cannot be opened: {}", folder, strerror(errno)));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return false;
    }
    lock_ = fd;
    name_ = name;
    for (const std::string &leftover : files()) unlink(leftover.c_str());
    return true;
}

hierarchy_folder::~hierarchy_folder() {
    std::error_code ignored;
    fs::remove_all(path(), ignored);
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
