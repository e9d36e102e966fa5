// What all commands of `allot` share: how arguments are read, how a wrong one is told, and what an exit status means.
//
// It exists so that every wrong input ends the same way: one line on stderr that names the argument and what is
// expected, exit status 2.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include "tools/errors.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace allot {

struct command {
    const char *name;
    const char *synopsis;
    const char *help;
    int (*perform)(std::vector<std::string> arguments);
};

// What --help says after "Usage: ".
void set_synopsis(CLI::App &app, const char *synopsis);

// Reads `arguments` into what was declared on `app`. Help is printed and true returned: there is nothing left to do.
// What the declarations did not take is in app.remaining().
[[nodiscard]] bool parse_arguments(CLI::App &app, const std::vector<std::string> &arguments);

// For a command without words of its own: anything left over is a wrong argument.
void refuse_remaining(const CLI::App &app);

// "--mx: no such option of allot run; did you mean --max?"
[[nodiscard]] std::string unknown_option(const CLI::App &app, const std::string &word);

// Of `word`, the nearest of `words`.
[[nodiscard]] std::string nearest_of(const std::string &word, const std::vector<std::string> &words);

// Checks for options: an empty string when the value is right, else what is wrong with it and what is expected.
[[nodiscard]] std::string check_size(const std::string &text);
[[nodiscard]] std::string check_tenant(const std::string &text);

} // namespace allot
