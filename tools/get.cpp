// `allot get`: one file of a tenant.
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/node_files.hpp"

#include <iostream>

namespace allot {

int get_command(std::vector<std::string> arguments) {
    hierarchy_arguments given("Prints one file of a tenant, such as memory.current.", "allot get", get_synopsis);
    given.take_path(hierarchy_arguments::path_is::needed);
    std::string file;
    given.app.add_option("FILE", file, "Which one");
    if (!given.read(arguments)) return exit_done;
    if (file.empty()) throw usage_error("FILE is missing; expected a file of the tenant, such as memory.current");
    complete(given.choice);
    const hierarchy_view view = view_of(given.choice);
    std::cout << file_text_of(view, subtree_of(view.tenants, given.path).front(), file);
    return exit_done;
}

} // namespace allot
