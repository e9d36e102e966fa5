#include "bench/linux_hooks.hpp"

#include "accounting/linux/engines.hpp"
#include "bench/engine_module.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace allot {

constinit thread_local memcg::cpu *linux_cpu_here = nullptr;
constinit memcg::charger *linux_charger = nullptr;

namespace {

// The call, and nothing behind it: what of a figure is the allocator's and the binding's.
class nobody final : public memcg::charger {
public:
    bool charge(memcg::cpu &, memcg::owner &, std::int64_t, std::uint32_t, memcg::slab_kind) override { return true; }
    void uncharge(memcg::cpu &, memcg::owner &, std::int64_t, std::uint32_t, memcg::slab_kind) override {}
};
constexpr char name_of_nobody[] = "linux_none";

struct running_engine {
    std::unique_ptr<memcg::any_engine> engine;
    memcg::group *charged = nullptr; // whom the process works for
    nobody nothing;
    std::mutex lock; // protects free_cpus
    std::vector<std::uint32_t> free_cpus;
};
running_engine &running() { // never destroyed: threads allocate to the end
    static running_engine &only = *new running_engine;
    return only;
}

memcg::cpu &cpu_taken() {
    if (linux_cpu_here != nullptr) return *linux_cpu_here;
    running_engine &r = running();
    std::lock_guard guard(r.lock);
    if (r.free_cpus.empty()) {
        std::fputs("bench: more threads allocate than the engine has CPUs\n", stderr);
        std::abort();
    }
    linux_cpu_here = &r.engine->cpu_of(r.free_cpus.back());
    r.free_cpus.pop_back();
    return *linux_cpu_here;
}

allot_tenant *tenant_of(memcg::group *g) { return reinterpret_cast<allot_tenant *>(g); }
memcg::group &group_of(allot_tenant *t) { return *reinterpret_cast<memcg::group *>(t); }

} // namespace

void linux_hooks::heap_park(heap_part &) {
    if (linux_cpu_here == nullptr) return; // gone with the first of its heaps
    running_engine &r = running();
    r.engine->take_off_line(*linux_cpu_here);
    std::lock_guard guard(r.lock);
    r.free_cpus.push_back(linux_cpu_here->id);
    linux_cpu_here = nullptr;
}

allot_tenant *linux_hooks::root_tenant() { return tenant_of(&running().engine->root()); }
allot_tenant *linux_hooks::default_tenant() { return tenant_of(running().charged); }
std::uint32_t linux_hooks::owner_get(allot_tenant *tenant) { return group_of(tenant).own->number; }
allot_tenant *linux_hooks::tenant_of_owner(std::uint32_t index) {
    return tenant_of(owner_at(index)->of.load(std::memory_order_relaxed));
}
memcg::owner *linux_hooks::owner_at(std::uint32_t index) { return &running().engine->owner_numbered(index); }
bool linux_hooks::charge_bytes(memcg::owner *owner, std::size_t bytes) {
    return linux_charger->charge(cpu_taken(), *owner, static_cast<std::int64_t>(bytes));
}
void linux_hooks::uncharge_bytes(memcg::owner *owner, std::size_t bytes) {
    linux_charger->uncharge(cpu_taken(), *owner, static_cast<std::int64_t>(bytes));
}

} // namespace allot

using namespace allot;

namespace {

const char *unknown_variant() {
    static std::string names = "expected null, allot, ";
    names += name_of_nobody;
    for (const memcg::variant_entry &entry : memcg::all_engines()) names += std::string{", "} + entry.name;
    return names.c_str();
}

// A chain of groups below the root. What protects them is less than they use.
memcg::group *make_tree(memcg::any_engine &engine, const bench::engine_setting &setting, memcg::cpu &background) {
    std::vector<memcg::group *> path{&engine.root()};
    for (std::uint32_t level = 0; level < setting.levels; ++level) path.push_back(&engine.create(*path.back()));
    if (setting.protected_levels != 0 && !engine.charge_pages(background, *path.back(), bench::background_pages))
        std::abort(); // nothing is limited yet
    for (std::uint32_t level = 1; level <= setting.protected_levels; ++level)
        engine.set_protection(*path[level], bench::protected_min_pages, bench::protected_low_pages);
    for (memcg::group *g : path)
        if (g != path.front()) engine.set_max(*g, bench::level_max_pages);
    return path.back();
}

} // namespace

extern "C" [[gnu::visibility("default")]] const char *allot_engine_start(const bench::engine_setting *setting) {
    bool is_nobody = std::strcmp(setting->variant, name_of_nobody) == 0;
    const memcg::variant_entry *entry = memcg::engine_named(is_nobody ? "linux_6_1" : setting->variant);
    if (entry == nullptr) return unknown_variant();
    running_engine &r = running();
    std::uint32_t background = setting->threads; // the last CPU
    r.engine = entry->make({setting->threads + 1});
    r.charged = make_tree(*r.engine, *setting, r.engine->cpu_of(background));
    for (std::uint32_t i = setting->threads; i-- > 0;) r.free_cpus.push_back(i);
    if (!setting->keeps_statistics) r.engine->leave_out_statistics();
    linux_charger = is_nobody ? static_cast<memcg::charger *>(&r.nothing) : r.engine.get();
    return nullptr;
}

extern "C" [[gnu::visibility("default")]] void allot_engine_counts(void (*add)(void *state, const char *name,
                                                                               std::uint64_t count),
                                                                   void *state) {
    memcg::tally sum = running().engine->counts();
    for (const memcg::tally_field &field : memcg::tally_fields) add(state, field.name, sum.*field.count);
    add(state, "shared", sum.shared());
    add(state, "flushed", sum.flushed());
}
