// `allot set`: limits of running programs.
#include "tools/command_arguments.hpp"
#include "tools/commands.hpp"
#include "tools/node_files.hpp"

namespace allot {

int set_command(std::vector<std::string> arguments) {
    hierarchy_arguments given("Writes to files of a tenant. All are checked before the first is written.", "allot set",
                              set_synopsis_text);
    given.take_path(hierarchy_arguments::path_is::needed);
    std::vector<std::string> words;
    given.app.add_option("FILE=VALUE", words, "What to write, such as memory.max=64M")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (!given.read(arguments)) return exit_done;
    if (words.empty()) throw usage_error("FILE=VALUE is missing; expected one or more, such as memory.max=64M");
    std::vector<file_write> writes;
    for (const std::string &word : words) check_file_write(writes.emplace_back(read_file_write(word)));
    complete(given.choice);
    const attachment file(given.choice);
    const std::uint32_t node = node_at_path(given.path);
    for (const file_write &w : writes) write_file(node, w);
    return exit_done;
}

} // namespace allot
