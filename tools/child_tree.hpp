// A command and all it starts, from the side of its parent: started, passed signals, waited for to the last process.
//
// It exists because the report is due when the whole tree is gone, daemons that left their parent included: this process
// becomes the one that orphans of the tree are given to.
//
// Threads: call from a process with one thread: signals are blocked for the process.
// Owner: nothing stays but the signal mask, which is restored.
// Invariants: 1. A signal that a terminal sends reaches the whole foreground group anyway and is not passed on twice.
// Cost: sleeps until something happens.
#pragma once

#include <string>
#include <vector>

namespace allot {

struct tree_outcome {
    int status = 0;      // of the command itself, as a shell says it: its own, or 128 + signal
    int signal = 0;      // that ended the command; 0: it exited
    std::string problem; // why it could not be run; empty: it was. status is 126 or 127 then
};

// `environment` is the whole of it, "NAME=value" each. Throws `failure`.
[[nodiscard]] tree_outcome run_tree(const std::vector<std::string> &command,
                                    const std::vector<std::string> &environment);

} // namespace allot
