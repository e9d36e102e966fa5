// `allot run`: runs a command, and all it starts, under limits, and reports what they used.
//
// Threads: one. Owner: the folder of the run, removed at the end.
// Cost: one fork; the report reads one file for each program image.
#pragma once

#include <string>
#include <vector>

namespace allot {

inline constexpr char run_synopsis[] = "allot run [OPTION]... -- COMMAND [ARG]...";

struct run_settings {
    std::vector<std::string> command;
    // Variables for the library: name without ALLOT_, value. In the order in which they were given.
    std::vector<std::pair<std::string, std::string>> variables;
    std::string hierarchy; // empty: run-PID
    std::string dir;       // empty: the user's default
    std::string trace;     // empty: none; an absolute path, with %p as given
    std::string report;    // empty: none; "stderr"; else a file, %p standing for this process's id
    bool json = false;
};

// Reads the arguments of `allot run`. Throws `usage_error`. False: help was asked for and printed.
[[nodiscard]] bool read_run_arguments(const std::vector<std::string> &arguments, run_settings &);

// The environment of the command: this process's with those variables in it and the library preloaded first.
[[nodiscard]] std::vector<std::string> environment_for(const run_settings &, const std::string &library,
                                                       const std::string &dir, const std::string &hierarchy,
                                                       char *const *inherited);

int run_command(std::vector<std::string> arguments);

} // namespace allot
