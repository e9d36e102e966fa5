// Which hierarchy a command is about, and its file in this process: for real, or as a copy.
//
// It exists so that all commands choose, attach and fail alike.
//
// Threads: one: a process has one file attached at a time.
// Owner: an attachment ends with its object.
// Invariants: 1. Whoever only looks does so in a private copy: a file that is torn or foreign misleads, and harms nobody.
// Cost: a copy reads what is in use of the file.
#pragma once

#include "accounting/shared/file.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace allot {

struct hierarchy_choice {
    std::string name; // empty: the only one there is
    std::string dir;  // empty: the user's own
};

// --hierarchy and --dir.
void declare_hierarchy(CLI::App &, hierarchy_choice &);

// The folder of hierarchies: as given, else of ALLOT_DIR, else /dev/shm/allot-UID; absolute.
[[nodiscard]] std::string chosen_dir(const std::string &given);

// Those of a folder, by name.
[[nodiscard]] std::vector<std::string> hierarchies_in(const std::string &dir);

// Makes both fields what they stand for. Without a name: that of ALLOT_HIERARCHY, which what allot run starts finds there;
// else the only one in the folder. Throws `usage_error` where there are several, `failure` where there is none.
void complete(hierarchy_choice &);

// The file itself, to be changed. Throws `failure`.
class attachment {
public:
    explicit attachment(const hierarchy_choice &, shared::if_missing = shared::if_missing::fail);
    ~attachment() { shared::detach(); }
    attachment(const attachment &) = delete;
    attachment &operator=(const attachment &) = delete;
    bool is_new() const { return is_new_; }

private:
    bool is_new_;
};

// A copy of it, to be looked at. Throws `failure`.
class file_copy {
public:
    explicit file_copy(const hierarchy_choice &);
    ~file_copy() { shared::detach(); }
    file_copy(const file_copy &) = delete;
    file_copy &operator=(const file_copy &) = delete;
};

// Why a file could not be attached, as a sentence; of another version, with both.
[[nodiscard]] std::string attach_problem(const hierarchy_choice &, const shared::attached_file &);

// The living tenant at a path, in what is attached. Throws `failure`: there is none.
[[nodiscard]] std::uint32_t node_at_path(const std::string &path);

// Puts in order what dead processes left, so that their bytes are shown no more. It is tried in a process of its own, for a
// second at most: a damaged file may bring that to its end, or never to one. Where it does not work, figures are as they are.
void reap_apart(const hierarchy_choice &);

} // namespace allot
