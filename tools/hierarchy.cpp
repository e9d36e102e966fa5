#include "tools/hierarchy.hpp"

#include "accounting/base/os.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/tables.hpp"
#include "tools/errors.hpp"
#include "tools/hierarchy_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace allot {

namespace fs = std::filesystem;

namespace {

const char *environment_of(allot_option id) {
    const char *value = getenv(option_table[id].variable);
    return value == nullptr ? "" : value;
}

std::string check_hierarchy(const std::string &name) {
    if (is_hierarchy_name(name)) return {};
    return fmt::format("'{}': expected a name of at most 63 bytes without /", name);
}

} // namespace

void declare_hierarchy(CLI::App &app, hierarchy_choice &choice) {
    app.add_option("--hierarchy", choice.name, "Which hierarchy (default: the only one; see allot ls)")
        ->type_name("NAME")
        ->check(check_hierarchy);
    app.add_option("--dir", choice.dir, "Where it is (default /dev/shm/allot-UID)")->type_name("DIR");
}

std::string chosen_dir(const std::string &given) {
    if (!given.empty()) return fs::absolute(given).lexically_normal().string();
    const std::string inherited = environment_of(allot_option_dir);
    return inherited.empty() ? default_dir() : fs::absolute(inherited).lexically_normal().string();
}

std::vector<std::string> hierarchies_in(const std::string &dir) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(dir, ignored))
        if (fs::exists(fs::symlink_status(entry.path() / shared::file_name, ignored)))
            names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

void complete(hierarchy_choice &choice) {
    choice.dir = chosen_dir(choice.dir);
    if (choice.name.empty()) choice.name = environment_of(allot_option_hierarchy);
    if (!choice.name.empty()) return;
    const std::vector<std::string> names = hierarchies_in(choice.dir);
    if (names.empty()) throw failure(fmt::format("{}: there is no hierarchy", choice.dir));
    if (names.size() > 1)
        throw usage_error(fmt::format("--hierarchy is missing; expected one of: {}", fmt::join(names, ", ")));
    choice.name = names.front();
}

std::string attach_problem(const hierarchy_choice &choice, const shared::attached_file &file) {
    std::string text = fmt::format("hierarchy {} in {} {}", choice.name, choice.dir, attach_error_text(file.error));
    if (file.error == shared::attach_error::other_version)
        text += fmt::format(": {}.{}, and this command's is {}.{}", file.major, file.minor, shared::file_major,
                            shared::file_minor);
    return text;
}

attachment::attachment(const hierarchy_choice &choice, shared::if_missing missing) {
    const shared::attached_file file = shared::attach(choice.dir.c_str(), choice.name.c_str(), missing);
    if (file.error != shared::attach_error::none) throw failure(attach_problem(choice, file));
    is_new_ = file.is_new;
}

file_copy::file_copy(const hierarchy_choice &choice) {
    const shared::attached_file file = shared::attach_copy(choice.dir.c_str(), choice.name.c_str());
    if (file.error != shared::attach_error::none) throw failure(attach_problem(choice, file));
}

std::uint32_t node_at_path(const std::string &path) {
    const shared::node_or_error found = shared::node_open(path.c_str());
    if (found.node == 0) throw failure(fmt::format("{}: there is no such tenant", path));
    return found.node;
}

void reap_apart(const hierarchy_choice &choice) {
    const pid_t child = fork();
    if (child < 0) return;
    if (child == 0) {
        const rlimit no_dump{0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_dump);
        alarm(1);
        (void)signal(SIGALRM, SIG_DFL);
        if (shared::attach(choice.dir.c_str(), choice.name.c_str(), shared::if_missing::fail).error ==
            shared::attach_error::none)
            (void)shared::reap_dead(shared::root_node);
        _exit(0);
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

} // namespace allot
