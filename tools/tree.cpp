// `allot tree`: tenants, what they use, what limits them, and what has happened to them.
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/hierarchy_view.hpp"
#include "tools/render_tree.hpp"

#include <iostream>

namespace allot {

int tree_command(std::vector<std::string> arguments) {
    hierarchy_arguments given("Prints the tenants of a hierarchy: usage, limits, events.", "allot tree", tree_synopsis);
    bool json = false;
    given.app.add_flag("--json", json, "As one JSON object, with statistics and processes");
    given.take_path(hierarchy_arguments::path_is::optional);
    if (!given.read(arguments)) return exit_done;
    complete(given.choice);
    const hierarchy_view view = view_of(given.choice);
    const std::vector<tenant_figures> tenants = subtree_of(view.tenants, given.path);
    if (!json) {
        std::cout << render_tree(tenants);
        return exit_done;
    }
    nlohmann::ordered_json whole = {{"hierarchy", given.choice.name},
                                    {"tenants", nlohmann::ordered_json::array()},
                                    {"processes", nlohmann::ordered_json::array()}};
    for (const tenant_figures &t : tenants) whole["tenants"].push_back(json_of(t));
    for (const process_entry &p : view.processes)
        if (p.lives() && is_at_or_below(p.tenant, given.path)) whole["processes"].push_back(json_of(p));
    std::cout << whole.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return exit_done;
}

} // namespace allot
