// The production allocator with accounting, linked once more so that its slow paths are counted: the linker leads calls from
// the allocator to accounting, and from one of accounting's files to another, through the functions below
// (-Wl,--wrap, bench/meson.build). The objects are those of liballot.so, and the fast path, which calls nobody, is the same
// instructions.
//
// The counting rule. `shared`: read-modify-writes of lines that other threads write, as for Linux's engines: usage, one a
// level of a walk; peaks that are raised; protected parts and their sums; references to an obj_cgroup, which a slab takes
// when it becomes a tenant's, and puts. A compare-and-swap counts once, however often it is tried. Not shared but locked, `own_locked`: three a slow path, of a context's own lines, which other threads write only
// when they drain it: its lock, taken and given back, and what signal handlers have left it. Statistics travel in the word
// that is charged, so each operation updates them, and each slow path moves what has come together into the books: `flushed`.
#include "accounting/context.hpp"
#include "accounting/page_counter.hpp"
#include "bench/engine_module.hpp"

#include <allot/tenant.h>

#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

using namespace allot;

namespace {

// Of one thread; written by it alone, read when all is quiet.
struct alignas(64) slow_path_counts {
    std::uint64_t usage = 0, peaks = 0, protection = 0, references = 0, walks = 0, slow_paths = 0;
};

struct all_counts {
    std::mutex lock; // protects the list
    std::deque<slow_path_counts> of_threads;
};
all_counts &all() { // never destroyed: threads allocate to the end
    static all_counts &only = *new all_counts;
    return only;
}

constinit thread_local slow_path_counts *mine = nullptr;
slow_path_counts &here() { // in a slow path: the allocation for it is libc's
    if (mine == nullptr) {
        std::lock_guard guard(all().lock);
        mine = &all().of_threads.emplace_back();
    }
    return *mine;
}

} // namespace

// What the linker calls the wrapped function, and what is called in its place.
#define ALLOT_WRAPPED(result, name, mangled, ...)                                                                      \
    result real_##name(__VA_ARGS__) __asm__("__real_" mangled);                                                        \
    [[gnu::used]] result counted_##name(__VA_ARGS__) __asm__("__wrap_" mangled)

ALLOT_WRAPPED(bool, charge_slow, "_ZN5allot19context_charge_slowEPNS_7contextEl", context *, net_word);
ALLOT_WRAPPED(void, uncharge_slow, "_ZN5allot21context_uncharge_slowEPNS_7contextE", context *);
ALLOT_WRAPPED(std::uint64_t, try_charge, "_ZN5allot23page_counter_try_chargeERNS_12page_counterEmm", page_counter &,
              std::uint64_t, std::uint64_t);
ALLOT_WRAPPED(std::uint64_t, uncharge, "_ZN5allot21page_counter_unchargeERNS_12page_counterEm", page_counter &,
              std::uint64_t);
ALLOT_WRAPPED(void, raise_peak, "_ZN5allot23page_counter_raise_peakERNS_12page_counterEm", page_counter &,
              std::uint64_t);
ALLOT_WRAPPED(void, propagate, "_ZN5allot22page_counter_propagateERNS_12page_counterEPS0_", page_counter &,
              page_counter *);
ALLOT_WRAPPED(void, grab, "_ZN5allot15obj_cgroup_grabEjj", std::uint32_t, std::uint32_t);
ALLOT_WRAPPED(void, put, "_ZN5allot14obj_cgroup_putEjj", std::uint32_t, std::uint32_t);

bool counted_charge_slow(context *c, net_word d) {
    ++here().slow_paths;
    return real_charge_slow(c, d);
}
void counted_uncharge_slow(context *c) {
    ++here().slow_paths;
    real_uncharge_slow(c);
}
std::uint64_t counted_try_charge(page_counter &c, std::uint64_t bytes, std::uint64_t beyond) {
    std::uint64_t reached = real_try_charge(c, bytes, beyond);
    if (reached != charge_refused) {
        ++here().usage;
        here().walks += c.depth == 0;
    }
    return reached;
}
std::uint64_t counted_uncharge(page_counter &c, std::uint64_t bytes) {
    ++here().usage;
    here().walks += c.depth == 0;
    return real_uncharge(c, bytes);
}
void counted_raise_peak(page_counter &c, std::uint64_t usage) {
    ++here().peaks;
    real_raise_peak(c, usage);
}
void counted_propagate(page_counter &c, page_counter *parent) {
    std::uint64_t min = c.min_usage.load(), low = c.low_usage.load();
    real_propagate(c, parent);
    std::uint64_t changed = (c.min_usage.load() != min) + (c.low_usage.load() != low);
    here().protection += changed * (parent == nullptr ? 1 : 2);
}
void counted_grab(std::uint32_t obj_cgroup, std::uint32_t references) {
    ++here().references;
    real_grab(obj_cgroup, references);
}
void counted_put(std::uint32_t obj_cgroup, std::uint32_t references) {
    ++here().references;
    real_put(obj_cgroup, references);
}

namespace {

const char *set_pages(allot_tenant *t, const char *file, std::int64_t pages) {
    std::string bytes = std::to_string(pages * std::int64_t{page_bytes});
    return allot_tenant_set(t, file, bytes.c_str()) == 0 ? nullptr : "a limit could not be set";
}

const char *limit(const std::string &path, bool is_protected) {
    allot_tenant *t = allot_tenant_open(path.c_str());
    if (t == nullptr) return "the tenants of the tree could not be created";
    const char *error = set_pages(t, "memory.max", bench::level_max_pages);
    if (error == nullptr && is_protected) error = set_pages(t, "memory.min", bench::protected_min_pages);
    if (error == nullptr && is_protected) error = set_pages(t, "memory.low", bench::protected_low_pages);
    return error;
}

} // namespace

// Statistics are kept, also where a setting leaves them out: they are part of what is charged.
extern "C" [[gnu::visibility("default")]] const char *allot_engine_start(const bench::engine_setting *setting) {
    std::vector<std::string> paths{""};
    for (std::uint32_t level = 1; level <= setting->levels; ++level)
        paths.push_back(paths.back() + "/level" + std::to_string(level));
    // The process's tenant, and with it those above, are made with the first call.
    setenv("ALLOT_TENANT", paths.back().c_str(), 1);
    if (allot_root() == nullptr) return "accounting could not start";
    allot_tenant *last = allot_tenant_open(paths.back().c_str());
    if (setting->protected_levels != 0 && allot_try_charge(last, bench::background_pages * page_bytes) != 0)
        return "the background was refused";
    const char *error = nullptr;
    for (std::uint32_t level = 1; level <= setting->levels && error == nullptr; ++level)
        error = limit(paths[level], level <= setting->protected_levels);
    return error;
}

extern "C" [[gnu::visibility("default")]] void allot_engine_counts(void (*add)(void *state, const char *name,
                                                                               std::uint64_t count),
                                                                   void *state) {
    std::lock_guard guard(all().lock);
    slow_path_counts sum;
    for (const slow_path_counts &c : all().of_threads) {
        sum.usage += c.usage;
        sum.peaks += c.peaks;
        sum.protection += c.protection;
        sum.references += c.references;
        sum.walks += c.walks;
        sum.slow_paths += c.slow_paths;
    }
    add(state, "usage", sum.usage);
    add(state, "peaks", sum.peaks);
    add(state, "protection", sum.protection);
    add(state, "references", sum.references);
    add(state, "walks", sum.walks);
    add(state, "slow_paths", sum.slow_paths);
    add(state, "flushed", sum.slow_paths);
    add(state, "own_locked", sum.slow_paths * 3);
    add(state, "shared", sum.usage + sum.peaks + sum.protection + sum.references);
}
