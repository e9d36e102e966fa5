// `allot verify`: compares counters with what they count, from outside, and asks each process to recount its objects.
#include "accounting/shared/figures.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/requests.hpp"
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/hierarchy_view.hpp"
#include "tools/reclaim_request.hpp"
#include "tools/text_table.hpp"

#include <unistd.h>
#include <vector>

namespace allot {

namespace {

// Copies are made anew until one holds: processes go on between two pieces of one.
shared::figures_check check_outside(const hierarchy_choice &choice, const std::string &path) {
    constexpr int attempts = 20;
    constexpr useconds_t between_us = 5000;
    shared::figures_check best{};
    for (int i = 0; i < attempts; ++i) {
        if (i != 0) usleep(between_us);
        const file_copy copy(choice);
        std::vector<shared::node_figures> room(shared::nodes_end());
        const shared::figures_check now = shared::check_figures(node_at_path(path), room.data(), 1);
        if (now.was_quiet) best = now;
        if (now.was_quiet && now.differences == 0) break;
    }
    return best;
}

} // namespace

int verify_command(std::vector<std::string> arguments) {
    hierarchy_arguments given(
        "Compares all counters of a hierarchy with what they count, and asks its processes to recount "
        "their objects. Exit status 1: something differs.",
        "allot verify", verify_synopsis);
    bool outside = false;
    given.app.add_flag("--outside", outside, "Ask no process");
    given.take_path(hierarchy_arguments::path_is::optional);
    if (!given.read(arguments)) return exit_done;
    complete(given.choice);
    reap_apart(given.choice);
    const shared::figures_check check = check_outside(given.choice, given.path);
    if (!check.was_quiet) throw failure("no quiet moment was found to compare in; processes are too busy");
    std::uint64_t differences = check.differences, recounted = 0;
    if (check.differences != 0) fmt::print("{}\n", check.first);
    if (!outside && check.differences == 0) {
        const attachment file(given.choice);
        const std::uint32_t node = node_at_path(given.path);
        for (const charged_member &m : members_below(node)) {
            std::uint64_t answer = 0;
            const int error = shared::request_post(m.member, shared::request_kind::verify, node, 0, answer);
            const std::string name = shown(name_of_member(m.member));
            if (error != 0 && error != -ESRCH) fmt::print("{}: not recounted: {}\n", name, request_problem(error));
            if (error != 0) continue;
            ++recounted;
            differences += answer;
            if (answer != 0) fmt::print("{}: {} differences\n", name, answer);
        }
    }
    fmt::print("{} tenant{} compared, {} process{} recounted, {} difference{}\n", check.nodes,
               check.nodes == 1 ? "" : "s", recounted, recounted == 1 ? "" : "es", differences,
               differences == 1 ? "" : "s");
    return differences == 0 ? exit_done : exit_no;
}

} // namespace allot
