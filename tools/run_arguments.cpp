#include "accounting/option_lists.hpp"
#include "accounting/options.hpp"
#include "accounting/tables.hpp"
#include "tools/command_line.hpp"
#include "tools/hierarchy_folder.hpp"
#include "tools/run.hpp"
#include "tools/tree_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace allot {
namespace {

// What was given on the command line, before it is turned into variables.
struct given {
    std::string tenant, max, high, low, min, headroom, oom, account, tree, fail_after;
    bool oom_group = false, throttle = false;
    std::vector<std::string> map, exclude;
    std::string report, trace;
    bool json = false, verbose = false;
};

// Checks of list items by the library's own rules; the separator of the variable cannot stand in an item.
auto item_check(const char *(*error_of)(const char *, std::size_t)) {
    return [error_of](const std::string &item) -> std::string {
        if (item.find(';') != std::string::npos) return fmt::format("'{}': has no ; in it", item);
        const char *why = error_of(item.data(), item.size());
        return why == nullptr ? std::string() : fmt::format("'{}': {}", item, why);
    };
}

// The words of a choice are those of its option, so that the command offers what the library understands.
std::vector<std::string> words_of(allot_option id) {
    std::vector<std::string> words;
    std::string form = option_table[id].form;
    for (std::size_t at = 0; at <= form.size();) {
        const std::size_t end = std::min(form.find('|', at), form.size());
        words.push_back(form.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

auto choice_check(allot_option id) {
    return [words = words_of(id)](const std::string &text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return {};
        return fmt::format("'{}': expected {}", text, fmt::join(words, " or "));
    };
}

// What the library accepts, the command does.
std::string check_fail_after(const std::string &text) {
    const std::string entry = std::string(option_table[allot_option_fail_after].variable) + "=" + text;
    char *environment[] = {const_cast<char *>(entry.c_str()), nullptr};
    options parsed;
    option_problems problems;
    options_parse(parsed, environment, problems);
    if (problems.count == 0 && !text.empty()) return {};
    return fmt::format("'{}': expected N, N+, N:PATH or N+:PATH", text);
}

std::string check_hierarchy(const std::string &name) {
    if (is_hierarchy_name(name)) return {};
    return fmt::format("'{}': expected a name of at most 63 bytes without /", name);
}

void declare(CLI::App &app, given &g, run_settings &s) {
    app.add_option("--tenant", g.tenant, "The tenant the limits are of and the command belongs to (default /)")
        ->type_name("PATH")
        ->check(check_tenant);
    const auto size_option = [&app](const char *name, std::string &into, const char *help) {
        app.add_option(name, into, help)->type_name("SIZE")->check(check_size);
    };
    size_option("--max", g.max, "Hard limit: what does not fit is refused");
    size_option("--high", g.high, "Soft limit: going over it is counted");
    size_option("--low", g.low, "Spared while others can be shrunk instead");
    size_option("--min", g.min, "Never shrunk for others");
    size_option("--headroom", g.headroom, "How far beyond the hard limit error paths may go");
    app.add_option("--oom", g.oom, "What a refusal does: fail the allocation, or report and kill or abort the process")
        ->type_name("fail|kill|abort")
        ->check(choice_check(allot_option_oom));
    app.add_flag("--oom-group", g.oom_group, "A kill stops all processes of the tenant");
    app.add_flag("--throttle", g.throttle, "Delay threads that charge above the soft limit");
    app.add_option("--fail-after", g.fail_after, "The N-th allocation of that tenant fails, with + every later one too")
        ->type_name("N[+][:PATH]")
        ->check(check_fail_after);
    app.add_option("--account", g.account, "Charge malloc and mappings (all, the default), or malloc alone (heap)")
        ->type_name("all|heap")
        ->check(choice_check(allot_option_account));
    app.add_option("--tree", g.tree, "Tenants and their limits, in TOML")->type_name("FILE");
    app.add_option("--map", g.map, "A rule thread:GLOB=PATH, exe:GLOB=PATH or lib:GLOB=PATH; may be repeated")
        ->type_name("RULE=PATH")
        ->expected(1)
        ->take_all()
        ->check(item_check(map_rule_error));
    app.add_option("--exclude", g.exclude, "A program in which nothing is counted; may be repeated")
        ->type_name("PROGRAM")
        ->expected(1)
        ->take_all()
        ->check(item_check(exclude_error));
    app.add_option("--trace", g.trace, "Record each allocation and each free there, for allot trace")
        ->type_name("FILE");
    app.add_flag("--report{stderr}", g.report, "Say at the end what was used, on stderr or in a file: --report=FILE");
    app.add_flag("--json", s.json, "The report is one JSON object (implies --report)");
    app.add_option("--hierarchy", s.hierarchy, "Name of the folder of the books (default run-PID)")
        ->type_name("NAME")
        ->check(check_hierarchy);
    app.add_option("--dir", s.dir, "Where that folder is (default /dev/shm/allot-UID)")->type_name("DIR");
    app.add_flag("--verbose", g.verbose, "Each process says in one line what is in force");
}

// Processes of the tree may go to other folders; the library follows no link in the last place.
std::string absolute_name(const std::string &name) {
    return name.empty() ? name : std::filesystem::weakly_canonical(std::filesystem::absolute(name)).string();
}

std::string joined(const std::vector<std::string> &items) { return fmt::format("{}", fmt::join(items, ";")); }

void set_variables(const given &g, run_settings &s) {
    const auto set = [&s](allot_option id, const std::string &value) {
        if (!value.empty()) s.variables.emplace_back(option_table[id].variable, value);
    };
    set(allot_option_tenant, g.tenant);
    set(allot_option_memory_max, g.max);
    set(allot_option_memory_high, g.high);
    set(allot_option_memory_low, g.low);
    set(allot_option_memory_min, g.min);
    set(allot_option_memory_headroom, g.headroom);
    set(allot_option_oom, g.oom);
    set(allot_option_oom_group, g.oom_group ? "1" : "");
    set(allot_option_throttle, g.throttle ? "1" : "");
    set(allot_option_fail_after, g.fail_after);
    set(allot_option_account, g.account);
    set(allot_option_map, joined(g.map));
    set(allot_option_exclude, joined(g.exclude));
    if (!g.tree.empty()) set(allot_option_tree, read_tree_file(g.tree));
    set(allot_option_verbose, g.verbose ? "1" : "");
    set(allot_option_trace, s.trace);
}

} // namespace

bool read_run_arguments(const std::vector<std::string> &arguments, run_settings &s) {
    CLI::App app(
        "Runs COMMAND, and all it starts, under limits. Exits as COMMAND did; 125 if allot itself failed, 126 or "
        "127 if COMMAND cannot be run or is not found, 128+N if signal N ended it.\n"
        "SIZE is bytes, or K, M, G, T, P, E (powers of 1024), fractions and sums (1G500M), N%, or max.",
        "allot run");
    set_synopsis(app, run_synopsis);
    // As with most commands, the last one given counts: a script can put its own before what its user adds.
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    given g;
    declare(app, g, s);
    app.prefix_command(); // from its first word on, everything is the command's
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    if (parse_arguments(app, {arguments.begin(), dashes})) return false;
    s.command = app.remaining();
    if (!s.command.empty() && s.command.front().starts_with('-'))
        throw usage_error(unknown_option(app, s.command.front()));
    // Behind a command that has begun, -- is one of its own arguments.
    s.command.insert(s.command.end(), s.command.empty() && dashes != arguments.end() ? dashes + 1 : dashes,
                     arguments.end());
    if (s.command.empty() || s.command.front().empty())
        throw usage_error("COMMAND is missing; expected allot run [OPTION]... -- COMMAND [ARG]...");
    s.report = g.report.empty() && s.json ? "stderr" : g.report;
    s.trace = absolute_name(g.trace);
    set_variables(g, s);
    return true;
}

} // namespace allot
