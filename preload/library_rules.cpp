#include "preload/library_rules.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/report.hpp"
#include "alloc/callers.hpp"
#include "preload/glob.hpp"
#include "preload/map_rules.hpp"

#include <dlfcn.h>
#include <link.h>

namespace allot {

namespace {

using find_object = int(void *address, dl_find_object *);

// Written once, before there are other threads.
constinit find_object *find = nullptr; // glibc has it since 2.35
constinit const link_map *loader = nullptr;
constinit caller_rules rules{library_rule_of, nullptr};

const link_map *map_of(const void *address) {
    dl_find_object found;
    return find(const_cast<void *>(address), &found) == 0 ? found.dlfo_link_map : nullptr;
}

const char *last_part(const char *path) {
    const char *part = path;
    for (; *path != '\0'; ++path)
        if (*path == '/') part = path + 1;
    return part;
}

void warn(const char *text) {
    line_writer line;
    line.text("allot: map: ").text(text).write();
}

} // namespace

void library_rules_start() {
    if (!map_rules_exist(map_kind::lib)) return;
    find = reinterpret_cast<find_object *>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
    if (find == nullptr)
        return warn("this libc does not say which library called: rules for libraries (lib:) are ignored");
    loader = map_of(dlsym(RTLD_DEFAULT, "__tls_get_addr")); // which is the loader's own
    const std::uint32_t count = options_get().nr_map;
    const std::uintptr_t memory = os_map(count * sizeof(allot_tenant *));
    if (memory == 0) return warn("no memory: rules for libraries (lib:) are ignored");
    auto *const tenants = reinterpret_cast<allot_tenant **>(memory);
    for (std::uint32_t i = 0; i < count; ++i) tenants[i] = map_rules_tenant_of(map_kind::lib, i);
    rules.tenants = tenants;
    heap_set_callers(&rules);
}

std::uint32_t library_rule_of(const void *address) {
    const link_map *map = map_of(address);
    if (map == nullptr) return 0;
    if (map == loader) return asked_by_loader;
    const char *name = last_part(map->l_name);
    if (*name == '\0') return 0; // the program itself
    const options &settings = options_get();
    for (std::uint32_t i = 0; i < settings.nr_map; ++i)
        if (rules.tenants[i] != nullptr && glob_match(settings.map[i].glob, name)) return i + 1;
    return 0;
}

} // namespace allot
