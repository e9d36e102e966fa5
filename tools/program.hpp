// A command as the kernel would start it, and whether the preload library reaches what is started.
//
// It exists for `allot doctor`, and for the one line in which `allot run` warns that limits that were asked for cannot
// hold. It answers for the program itself; what that program starts later is judged when it is started.
//
// Threads: one. Owner: values. Cost: reads the program's headers; asks the loader for missing libraries.
#pragma once

#include <string>
#include <vector>

namespace allot {

enum class found { yes, no, not_executable };

struct program_verdict {
    found is_found = found::yes;
    std::vector<std::string> chain;     // what is executed: the command's path, then its interpreters
    std::vector<std::string> obstacles; // each a phrase that says why not; empty: can be limited
    std::vector<std::string> notes;     // what is worth knowing although it does not prevent anything
};

// `command` is looked up as execvp does, with the PATH of this process.
[[nodiscard]] program_verdict judge_program(const std::vector<std::string> &command);

// The file execvp would run, or an empty string.
[[nodiscard]] std::string find_program(const std::string &name);

// Users as the kernel sees this process; a parameter so that a test can be somebody else.
struct identity {
    unsigned uid;
    unsigned gid;
};
[[nodiscard]] identity own_identity();

// Why the loader would ignore LD_PRELOAD for the file when this user runs it; empty: it would not.
[[nodiscard]] std::string secure_mode_reason(const std::string &path, identity who);

} // namespace allot
