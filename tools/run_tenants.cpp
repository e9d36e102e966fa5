#include "tools/run_tenants.hpp"

#include "accounting/options.hpp"
#include "accounting/shared/nodes.hpp"
#include "tools/create.hpp"
#include "tools/errors.hpp"
#include "tools/node_files.hpp"

namespace allot {

namespace {

std::uint32_t made(const char *path) {
    const shared::node_or_error result = shared::node_make(path);
    if (result.node == 0) throw failure(making_problem(path, result.error));
    return result.node;
}

} // namespace

void make_tenants_of(const std::vector<std::string> &environment) {
    std::vector<char *> entries;
    for (const std::string &entry : environment) entries.push_back(const_cast<char *>(entry.c_str()));
    entries.push_back(nullptr);
    options o;
    option_problems problems; // each process of the run tells of them
    options_parse(o, entries.data(), problems);
    for (std::uint32_t i = 0; i < o.nr_tree; ++i) {
        const std::uint32_t node = made(o.tree[i].path);
        if (o.tree[i].file[0] != '\0') write_file(node, {o.tree[i].file, o.tree[i].value});
    }
    const std::uint32_t own = made(o.tenant);
    for_own_files(o, [&](const char *file, const char *value) { write_file(own, {file, value}); });
    // Those that rules name, so that they can be looked at and steered before anybody works for them; threads make theirs. A
    // failing one must be there.
    for (std::uint32_t i = 0; i < o.nr_map; ++i)
        if (o.map[i].kind != map_kind::thread) (void)made(o.map[i].path);
    if (o.fail_after_path[0] != '\0') (void)made(o.fail_after_path);
}

} // namespace allot
