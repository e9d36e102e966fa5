// The command: finds which of its commands is meant and turns what goes wrong into one line and an exit status.
#include "tools/command_line.hpp"

#include "tools/commands.hpp"
#include "tools/describe.hpp"
#include "tools/doctor.hpp"
#include "tools/run.hpp"
#include "tools/trace_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

namespace allot {
namespace {

constexpr command commands[] = {
    {"run", run_synopsis, "runs a program, and all it starts, under limits", run_command},
    {"tree", tree_synopsis, "the tenants of a hierarchy: usage, limits, events", tree_command},
    {"top", top_synopsis, "the same live", top_command},
    {"ls", ls_synopsis, "the hierarchies there are", ls_command},
    {"create", create_synopsis, "makes a tenant, and its hierarchy", create_command},
    {"rm", rm_synopsis, "removes a tenant, or a hierarchy", rm_command},
    {"get", get_synopsis, "prints one file of a tenant", get_command},
    {"set", set_synopsis_text, "changes limits of running programs", set_command},
    {"reclaim", reclaim_synopsis, "asks processes for memory", reclaim_command},
    {"verify", verify_synopsis, "recounts and compares", verify_command},
    {"export", export_synopsis, "figures for Prometheus and OpenMetrics", export_command},
    {"watch", watch_synopsis, "events as they happen", watch_command},
    {"doctor", doctor_synopsis, "says whether a program can be limited, and if not, why", doctor_command},
    {"trace", trace_synopsis, "sums up what run --trace has recorded", trace_command},
    {"describe", describe_synopsis, "the tables of options, statistics and events", describe_command},
};

std::string names_of_commands() {
    std::string names;
    for (const command &c : commands) names += fmt::format("{}{}", names.empty() ? "" : ", ", c.name);
    return names;
}

int print_help() {
    fmt::print("allot keeps a bill of memory for every tenant and enforces limits.\n\n");
    for (const command &c : commands) fmt::print("  {:<50} {}\n", c.synopsis, c.help);
    fmt::print("\nallot COMMAND --help says more.\n");
    return exit_done;
}

int dispatch(const std::vector<std::string> &words) {
    if (words.empty()) throw usage_error(fmt::format("a command is missing; expected {}", names_of_commands()));
    const std::string &name = words.front();
    if (name == "--help" || name == "-h" || name == "help") return print_help();
    if (name == "--version") {
        fmt::print("allot {}\n", ALLOT_VERSION);
        return exit_done;
    }
    for (const command &c : commands)
        if (name == c.name) return c.perform({words.begin() + 1, words.end()});
    std::vector<std::string> names;
    for (const command &c : commands) names.emplace_back(c.name);
    throw usage_error(fmt::format("{}: no such command; did you mean {}? Expected {}", name, nearest_of(name, names),
                                  names_of_commands()));
}

} // namespace
} // namespace allot

int main(int argc, char **argv) {
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    try {
        return allot::dispatch(words);
    } catch (const allot::usage_error &error) {
        fmt::print(stderr, "allot: {}\n", error.what());
        return allot::exit_usage;
    } catch (const std::exception &error) {
        fmt::print(stderr, "allot: {}\n", error.what());
        return !words.empty() && words.front() == "run" ? allot::exit_failed : allot::exit_no;
    }
}
