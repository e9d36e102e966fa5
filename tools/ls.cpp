// `allot ls`: the hierarchies there are.
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/hierarchy_view.hpp"
#include "tools/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace allot {

namespace {

struct entry {
    std::string name, problem;
    std::size_t nr_processes = 0, nr_tenants = 0;
    std::uint64_t current = 0;
};

entry entry_of(const hierarchy_choice &choice) {
    entry e{choice.name, {}};
    try {
        const hierarchy_view view = view_of(choice);
        e.nr_processes = nr_living(view.processes);
        e.nr_tenants = view.tenants.size();
        if (!view.tenants.empty() && view.tenants.front().path == "/") e.current = view.tenants.front().current;
    } catch (const failure &problem) {
        e.problem = problem.what();
    }
    return e;
}

} // namespace

int ls_command(std::vector<std::string> arguments) {
    hierarchy_arguments given("Lists the hierarchies of this user.", "allot ls", ls_synopsis);
    bool json = false;
    given.app.add_flag("--json", json, "As one JSON array");
    if (!given.read(arguments)) return exit_done;
    const std::string dir = chosen_dir(given.choice.dir);
    auto list = nlohmann::ordered_json::array();
    std::vector<std::vector<std::string>> rows;
    int status = exit_done;
    std::vector<std::string> names = hierarchies_in(dir);
    if (!given.choice.name.empty()) names = {given.choice.name};
    for (const std::string &name : names) {
        const entry e = entry_of({name, dir});
        if (!e.problem.empty()) {
            fmt::print(stderr, "allot: {}\n", e.problem);
            status = exit_no;
            continue;
        }
        rows.push_back(
            {shown(name), fmt::format("{}", e.nr_processes), fmt::format("{}", e.nr_tenants), bytes_text(e.current)});
        list.push_back(
            {{"name", name}, {"processes", e.nr_processes}, {"tenants", e.nr_tenants}, {"current", e.current}});
    }
    if (json)
        std::cout << list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    else
        for (const std::string &line : table_lines({"hierarchy", "procs", "tenants", "current"}, rows))
            std::cout << line << "\n";
    return status;
}

} // namespace allot
