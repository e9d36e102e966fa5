// A directory in which a child process shares a hierarchy, as under `allot run`.
#pragma once

#include "accounting/shared/file.hpp"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

class hierarchy {
public:
    hierarchy() {
        char name[] = "/dev/shm/allot-test-XXXXXX";
        if (mkdtemp(name) != nullptr) path_ = name;
    }
    ~hierarchy() { std::filesystem::remove_all(path_); }
    hierarchy(const hierarchy &) = delete;
    hierarchy &operator=(const hierarchy &) = delete;

    // Runs code in a child that has not started accounting yet, with the settings of `allot run`; its wait status.
    template<class Code>
    int run(Code code) {
        pid_ = fork();
        if (pid_ == 0) {
            setenv("ALLOT_DIR", path_.c_str(), 1);
            setenv("ALLOT_HIERARCHY", "h", 1);
            code();
            _exit(0);
        }
        int status = 0;
        waitpid(pid_, &status, 0);
        return status;
    }
    pid_t pid() const { return pid_; }
    const std::string &path() const { return path_; }
    std::vector<std::string> files() const {
        std::vector<std::string> all;
        if (std::filesystem::exists(path_ + "/h"))
            for (const auto &entry : std::filesystem::directory_iterator(path_ + "/h")) all.push_back(entry.path());
        return all;
    }
    // This process, to look at what it has left; shared::detach() then.
    bool attach() const {
        return allot::shared::attach(path_.c_str(), "h", allot::shared::if_missing::fail).error ==
               allot::shared::attach_error::none;
    }

private:
    std::string path_;
    pid_t pid_ = 0;
};
