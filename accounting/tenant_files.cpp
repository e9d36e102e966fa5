#include "accounting/tenant_files.hpp"

#include "accounting/base/os.hpp"
#include "accounting/cgroup_files.hpp"
#include "accounting/failures.hpp"
#include "accounting/memory_files.hpp"
#include "accounting/pressure_files.hpp"
#include "accounting/reclaim.hpp"
#include "accounting/tenant.hpp"
#include "accounting/thread_files.hpp"

#include <cerrno>
#include <cstring>

namespace allot {

namespace {

constexpr tenant_file files[] = {
    {"memory.current", get_current},
    {"memory.peak", get_peak, reset_peak},
    {"memory.min", get_min, set_min},
    {"memory.low", get_low, set_low},
    {"memory.high", get_high, set_high, nullptr, reclaim_to_set_limits},
    {"memory.max", get_max, set_max, nullptr, reclaim_to_set_limits},
    {"memory.headroom", get_headroom, set_headroom},
    {"memory.events", get_events},
    {"memory.events.local", get_events_local},
    {"memory.stat", nullptr, nullptr, ask_stat},
    {"memory.numa_stat", get_numa_stat},
    {"memory.pressure", get_pressure},
    {"memory.reclaim", nullptr, nullptr, nullptr, reclaim_request},
    {"memory.throttle", get_throttle, set_throttle},
    {"memory.oom.group", get_oom_group, set_oom_group},
    {"memory.oom.policy", get_oom_policy, set_oom_policy},
    {"memory.fail", get_failures, set_failures},
    {"cgroup.procs", get_procs},
    {"cgroup.threads", nullptr, nullptr, list_threads, move_thread},
    {"cgroup.events", get_cgroup_events},
    {"cgroup.max.descendants", get_max_descendants, set_max_descendants},
    {"cgroup.stat", get_cgroup_stat},
    {"cgroup.kill", nullptr, nullptr, nullptr, kill_all},
};
constexpr std::uint32_t nr_files = sizeof files / sizeof *files;

const tenant_file *find_file(const char *name) {
    for (const tenant_file &file : files)
        if (std::strcmp(file.name, name) == 0) return &file;
    return nullptr;
}

int get_with_lock(const tenant_file &file, allot_tenant *handle, file_text &out) {
    signals_blocked quiet;
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_from(handle);
    if (t == nullptr) return -ESTALE;
    file.get(*t, out);
    return 0;
}

int set_with_locks(const tenant_file &file, allot_tenant *handle, const char *value) {
    signals_blocked quiet;
    lock_scope drain(region().drain_lock.word, lock_rank::drain);
    lock_scope registry(region().registry_lock.word, lock_rank::registry);
    tenant *t = tenant_from(handle);
    return t == nullptr ? -ESTALE : file.set(*t, value);
}

} // namespace

const char *tenant_file_name(std::uint32_t number) { return number < nr_files ? files[number].name : nullptr; }

long tenant_get(allot_tenant *handle, const char *name, char *buffer, std::size_t size) {
    const tenant_file *file = find_file(name);
    if (file == nullptr) return -ENOENT;
    if (file->get == nullptr && file->ask == nullptr) return -EACCES;
    file_text out(buffer, size);
    int error = file->get != nullptr ? get_with_lock(*file, handle, out) : file->ask(handle, out);
    out.end();
    return error != 0 ? error : static_cast<long>(out.length());
}

int tenant_set(allot_tenant *handle, const char *name, const char *value) {
    const tenant_file *file = find_file(name);
    if (file == nullptr) return -ENOENT;
    if (file->set == nullptr && file->tell == nullptr) return -EACCES;
    int error = file->set != nullptr ? set_with_locks(*file, handle, value) : 0;
    return error != 0 || file->tell == nullptr ? error : file->tell(handle, value);
}

} // namespace allot
