// `allot reclaim`: asks processes for memory.
#include "accounting/base/os.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/sizes.hpp"
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/reclaim_request.hpp"
#include "tools/text_table.hpp"

#include <limits>

namespace allot {

int reclaim_command(std::vector<std::string> arguments) {
    hierarchy_arguments given(
        "Asks the processes of a tenant and of those below it, the largest first, to give so much "
        "back from caches. Exit status 1: it was less.",
        "allot reclaim", reclaim_synopsis);
    given.take_path(hierarchy_arguments::path_is::needed);
    std::string size;
    given.app.add_option("SIZE", size, "How much; a percentage is of what the tenant uses")->check(check_size);
    if (!given.read(arguments)) return exit_done;
    if (size.empty()) throw usage_error(fmt::format("SIZE is missing; expected {}", size_expected));
    complete(given.choice);
    reap_apart(given.choice);
    const attachment file(given.choice);
    const std::uint32_t node = node_at_path(given.path);
    const std::uint64_t usage = shared::node_at(node).usage.value.load(std::memory_order_relaxed);
    std::uint64_t wanted = size_parse(size.c_str(), std::max<std::uint64_t>(usage, 1)).bytes;
    wanted = std::min(wanted, usage); // of "max", all
    constexpr std::uint64_t patience_ns = std::numeric_limits<std::uint64_t>::max();
    const reclaim_outcome outcome = reclaim_below(node, wanted, patience_ns);
    for (const std::string &one : outcome.not_served) fmt::print(stderr, "allot: {}\n", shown(one));
    fmt::print("{} of {} bytes were given back\n", outcome.got, wanted);
    return outcome.got >= wanted ? exit_done : exit_no;
}

} // namespace allot
