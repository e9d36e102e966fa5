// `allot rm`: a tenant, or a whole hierarchy.
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/hierarchy_folder.hpp"
#include "tools/hierarchy_view.hpp"

#include <cerrno>
#include <cstring>

namespace allot {

namespace {

void remove_whole(const hierarchy_choice &choice) {
    {
        // What cannot be read cannot be in use by anybody of this version; it is removed too, unless it is another version's.
        const shared::attached_file file =
            shared::attach(choice.dir.c_str(), choice.name.c_str(), shared::if_missing::fail);
        if (file.error == shared::attach_error::other_version || file.error == shared::attach_error::not_there)
            throw failure(attach_problem(choice, file));
        if (file.error == shared::attach_error::none) {
            shared::detach();
            const std::size_t living = nr_living(view_of(choice).processes);
            if (living != 0)
                throw failure(fmt::format("hierarchy {}: {} process{} in it", choice.name, living,
                                          living == 1 ? " lives" : "es live"));
        }
    }
    if (!remove_hierarchy(choice.dir, choice.name))
        throw failure(fmt::format("hierarchy {}: is in use by allot run", choice.name));
}

} // namespace

int rm_command(std::vector<std::string> arguments) {
    hierarchy_arguments given(
        "Removes a tenant in which nothing is charged; or, without PATH, the whole hierarchy that "
        "is named, once no process of it lives.",
        "allot rm", rm_synopsis);
    given.take_path(hierarchy_arguments::path_is::optional);
    if (!given.read(arguments)) return exit_done;
    if (given.app.count("PATH") == 0) {
        if (given.choice.name.empty())
            throw usage_error("PATH is missing; expected a tenant, or --hierarchy NAME alone");
        complete(given.choice);
        remove_whole(given.choice);
        return exit_done;
    }
    complete(given.choice);
    reap_apart(given.choice);
    const attachment file(given.choice);
    const std::uint32_t node = node_at_path(given.path);
    const int error = shared::node_remove(node);
    if (error == -EBUSY && node == shared::root_node)
        throw failure("/: the root goes with its hierarchy: allot rm --hierarchy NAME");
    if (error == -EBUSY) throw failure(fmt::format("{}: has tenants below it, processes, or charges", given.path));
    if (error != 0) throw failure(fmt::format("{}: {}", given.path, strerror(-error)));
    return exit_done;
}

} // namespace allot
