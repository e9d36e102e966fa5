#include "alloc/memory_figures.hpp"

#include "accounting/base/os.hpp"
#include "accounting/base/units.hpp"
#include "alloc/fork.hpp"
#include "alloc/metadata.hpp"
#include "alloc/page_source.hpp"
#include "alloc/requests.hpp"
#include "alloc/visit.hpp"

namespace allot {

namespace {

// What its header says of a unit at one moment, for the system is asked without the lock. Of slabs: bytes of slots that are
// listed and of those that are free. Live slots of another thread's slab, read while it changes, may be off by a few, also
// below 0.
struct unit_now {
    unit_kind kind;
    bool is_inherited; // shared with the parent until written to
    std::uint64_t listed, free;
};

unit_now look_at(const slab *s) {
    units_held hold;
    unit_now now{kind_of(s), false, 0, 0};
    if (now.kind != unit_kind::private_slab && now.kind != unit_kind::shared_slab) return now;
    now.is_inherited = s->generation != process_generation();
    std::uint32_t carved = read_shared(s->carved), live = live_slots(s);
    now.listed = std::uint64_t{carved} * s->slot_bytes;
    now.free = live <= carved ? std::uint64_t{carved - live} * s->slot_bytes : 0;
    return now;
}

// Of large slots a few are listed at once and only their first page is touched; behind what is listed may lie what an
// earlier use of the unit has touched.
void add_slab(memory_figures &all, const slab *s, const unit_now &now) {
    std::uint64_t listed = (now.listed + page_bytes - 1) / page_bytes * page_bytes;
    if (listed > unit_bytes) listed = unit_bytes;
    std::uint64_t resident = os_resident_bytes(address_of(s), listed);
    std::uint64_t behind = listed < unit_bytes ? os_resident_bytes(address_of(s) + listed, unit_bytes - listed) : 0;
    all.resident += resident + behind;
    if (!now.is_inherited) all.cache += (now.free < resident ? now.free : resident) + behind;
}

void add_unit(memory_figures &all, const slab *s) {
    unit_now now = look_at(s);
    if (now.kind == unit_kind::private_slab || now.kind == unit_kind::shared_slab) return add_slab(all, s, now);
    std::uint64_t resident = os_resident_bytes(address_of(s), unit_bytes);
    all.resident += resident;
    if (now.kind == unit_kind::free) all.cache += resident;
    if (now.kind == unit_kind::reserve) all.overhead += resident;
}

} // namespace

memory_figures memory_figures_get() {
    memory_figures all{};
    home *h = home_here();
    if (h == nullptr || h->busy) return all;
    visit here(h);
    std::uint32_t frontier = arena_frontier();
    for (std::uint32_t unit = 0; unit < frontier; ++unit) add_unit(all, slab_at(unit));
    std::uint64_t own =
        os_resident_bytes(reinterpret_cast<std::uintptr_t>(slab_at(0)), std::size_t{frontier} * sizeof(slab));
    metadata_for_each_range(
        [](void *state, std::uintptr_t start, std::size_t bytes) {
            *static_cast<std::uint64_t *>(state) += os_resident_bytes(start, bytes);
        },
        &own);
    all.overhead += own;
    all.resident += own;
    return all;
}

void requested_samples(void (*add)(void *state, std::uint32_t owner, std::uint64_t requested, std::uint64_t usable),
                       void *state) {
    if (hooks::keeps_requests()) return requested_exactly(add, state);
    for (const home *h = homes_first(); h != nullptr; h = h->next_home)
        // acquire: its fields, and the heap behind it.
        for (const heap *a = __atomic_load_n(&h->heaps, __ATOMIC_ACQUIRE); a != nullptr; a = a->next) {
            auto read = [](const auto &word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); };
            std::uint64_t usable = read(a->sampled_usable), requested = read(a->sampled_requested);
            if (usable != 0) add(state, read(a->owner), requested < usable ? requested : usable, usable);
        }
}

} // namespace allot
