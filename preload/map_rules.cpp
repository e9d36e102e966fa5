#include "preload/map_rules.hpp"

#include "accounting/accounting.hpp"
#include "accounting/base/report.hpp"
#include "preload/glob.hpp"

#include <atomic>

namespace allot {

namespace {

// Whoever sets it first prints. relaxed: nothing else depends on it.
constinit std::atomic<bool> refused_path_told{false};

void tell_refused_path(const map_rule &rule) {
    if (refused_path_told.exchange(true, std::memory_order_relaxed)) return;
    line_writer line;
    line.text("allot: map: the tenant ").text(rule.path).text(" cannot be created; what matches ").text(rule.glob);
    line.text(" stays where it is").write();
}

} // namespace

bool map_rules_exist(map_kind kind) {
    const options &settings = options_get();
    if (settings.nr_map == 0 || settings.excluded) return false;
    for (std::uint32_t i = 0; i < settings.nr_map; ++i)
        if (settings.map[i].kind == kind) return true;
    return false;
}

allot_tenant *map_rules_tenant(map_kind kind, const char *name) {
    const options &settings = options_get();
    if (settings.excluded) return nullptr;
    for (std::uint32_t i = 0; i < settings.nr_map; ++i) {
        if (settings.map[i].kind != kind || !glob_match(settings.map[i].glob, name)) continue;
        if (allot_tenant *tenant = map_rules_tenant_of(kind, i)) return tenant;
    }
    return nullptr;
}

allot_tenant *map_rules_tenant_of(map_kind kind, std::uint32_t index) {
    const map_rule &rule = options_get().map[index];
    if (rule.kind != kind) return nullptr;
    allot_tenant *tenant = tenant_create_path(rule.path);
    if (tenant == nullptr) tell_refused_path(rule);
    return tenant;
}

} // namespace allot
