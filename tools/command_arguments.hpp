// The arguments that the commands of a hierarchy have in common: which one it is, and whose figures.
//
// Threads: one. Owner: values. Cost: none that matters.
#pragma once

#include "tools/command_line.hpp"
#include "tools/hierarchy.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace allot {

class hierarchy_arguments {
public:
    hierarchy_arguments(const std::string &help, const std::string &name, const char *synopsis) : app(help, name) {
        set_synopsis(app, synopsis);
        declare_hierarchy(app, choice);
        app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        app.allow_extras();
    }

    // PATH, or PATH and what else stands in its place.
    enum class path_is { optional, needed };
    void take_path(path_is kind) {
        path_is_ = kind;
        app.add_option("PATH", path,
                       kind == path_is::optional ? "The tenant, with those below it (default /)" : "The tenant")
            ->check(check_tenant);
    }

    // False: help was printed. The hierarchy is not looked for yet: wrong words come first.
    [[nodiscard]] bool read(const std::vector<std::string> &arguments) {
        if (parse_arguments(app, arguments)) return false;
        refuse_remaining(app);
        if (path.empty() && path_is_ == path_is::needed)
            throw usage_error("PATH is missing; expected a tenant, such as /web/api");
        if (path.empty()) path = "/";
        return true;
    }

    CLI::App app;
    hierarchy_choice choice;
    std::string path;

private:
    path_is path_is_ = path_is::optional;
};

// A number of seconds; CLI11 has made it a number.
inline std::string check_seconds(const std::string &text) {
    char *end = nullptr;
    const double seconds = strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0' && seconds >= 0.01 && seconds <= 86400) return {};
    return fmt::format("'{}': expected seconds, from 0.01 to 86400", text);
}

} // namespace allot
