// How a command ends, and what it throws when it cannot go on.
//
// It exists apart from the reading of arguments because everything throws and little reads arguments.
//
// Threads: any. Owner: values. Cost: none.
#pragma once

#include <stdexcept>

namespace allot {

enum exit_status : int {
    exit_done = 0,
    exit_no = 1, // the answer is no
    exit_usage = 2,
    exit_failed = 125, // of `allot run`: allot itself failed, as env and timeout have it
    exit_cannot_run = 126,
    exit_not_found = 127,
    exit_signal_base = 128,
};

// A wrong argument; the sentence names it and what is expected.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// allot itself cannot do what it was asked; of `allot run` that is status 125, of other commands 1.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace allot
