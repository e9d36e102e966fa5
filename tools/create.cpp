// `allot create`: a tenant, with limits, and the hierarchy if there is none of that name.
#include "tools/create.hpp"

#include "accounting/shared/nodes.hpp"
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/hierarchy_folder.hpp"
#include "tools/node_files.hpp"

#include <cerrno>
#include <cstring>

namespace allot {

std::string making_problem(const std::string &path, int error) {
    switch (error) {
    case -ENOSPC: return fmt::format("{}: is deeper than {} levels", path, ALLOT_TENANT_DEPTH_MAX);
    case -EAGAIN: return fmt::format("{}: cgroup.max.descendants of a tenant above does not allow it", path);
    case -ENOMEM: return fmt::format("{}: the hierarchy has no room for it", path);
    default: return fmt::format("{}: {}", path, strerror(-error));
    }
}

int create_command(std::vector<std::string> arguments) {
    hierarchy_arguments given(
        "Makes a tenant and its missing parents. A hierarchy that is named and missing is made too.", "allot create",
        create_synopsis);
    given.take_path(hierarchy_arguments::path_is::needed);
    std::vector<std::string> words;
    given.app.add_option("FILE=VALUE", words, "A limit, such as memory.max=64M")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (!given.read(arguments)) return exit_done;
    std::vector<file_write> writes;
    for (const std::string &word : words) check_file_write(writes.emplace_back(read_file_write(word)));

    const bool is_named = !given.choice.name.empty();
    given.choice.dir = chosen_dir(given.choice.dir);
    if (!is_named && hierarchies_in(given.choice.dir).empty())
        throw usage_error("--hierarchy is missing; expected a name for the first hierarchy");
    complete(given.choice);
    if (is_named) prepare_dir(given.choice.dir);
    const attachment file(given.choice, shared::if_missing::make);
    const shared::node_or_error made = shared::node_make(given.path.c_str());
    if (made.node == 0) throw failure(making_problem(given.path, made.error));
    if (!made.is_new && !(given.path == "/" && file.is_new()))
        throw failure(fmt::format("{}: is there already", given.path));
    for (const file_write &w : writes) write_file(made.node, w);
    return exit_done;
}

} // namespace allot
