#include "alloc/recount.hpp"

#include "alloc/adopt.hpp"
#include "alloc/alloc.hpp"
#include "alloc/fork.hpp"
#include "alloc/metadata.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/page_source.hpp"
#include "alloc/remote_free.hpp"
#include "alloc/visit.hpp"

namespace allot {

namespace {

template<typename Visit>
void for_each_header(Visit visit) {
    for (std::uint32_t unit = 1; unit < arena_frontier(); ++unit) {
        slab *s = slab_at(unit);
        if (s->generation == process_generation()) visit(s);
    }
}

#ifdef ALLOT_ACCOUNTED_HOOKS
// What the vector names: all of a shared slab, the exceptions of a private one, which its own owner is not charged for.
void recount_vector(const slab *s, recount_sink &sink) {
    const std::uint32_t *owners = owners_of(s);
    if (owners == nullptr) return;
    for (std::uint32_t i = 0; i < s->carved; ++i) {
        std::uint32_t owner = owners[i] & ~in_transfer;
        if (owner == 0) continue;
        sink.add(sink.state, owner, s->slot_bytes, 1);
        if (s->kind == unit_kind::private_slab)
            sink.add(sink.state, s->obj_cgroup, -std::uint64_t{s->slot_bytes}, ~std::uint64_t{0});
    }
}

// Slots under way still count as used in private slabs; their entries in a vector went when they were freed.
void subtract_pending(void *slot, void *state) {
    recount_sink &sink = *static_cast<recount_sink *>(state);
    const slab *s = slab_of(slot);
    if (s->kind == unit_kind::private_slab)
        sink.add(sink.state, s->obj_cgroup, -std::uint64_t{s->slot_bytes}, ~std::uint64_t{0});
}
#endif

} // namespace

#ifdef ALLOT_ACCOUNTED_HOOKS
void recount(recount_sink &sink) {
    for_each_header([&](slab *s) {
        if (s->kind == unit_kind::private_slab)
            sink.add(sink.state, s->obj_cgroup, std::uint64_t{live_slots(s)} * s->slot_bytes, live_slots(s));
        if (is_cut(s)) recount_vector(s, sink);
        if (s->kind == unit_kind::large && s->large_bytes < direct_charge_bytes)
            sink.add(sink.state, s->obj_cgroup & ~in_transfer, s->large_bytes, 1);
    });
    remote_for_each_pending(subtract_pending, &sink);
}
#else
void recount(recount_sink &) {}
#endif

namespace {

// While other threads work: held, a unit that is in use is so for one thing.
void add_unit(heap_statistics &found, const slab *s) {
    units_held hold;
    unit_kind kind = kind_of(s);
    bool is_large = kind == unit_kind::large;
    if (!is_large && kind != unit_kind::private_slab && kind != unit_kind::shared_slab) return;
    if (s->generation != process_generation()) return;
    if (is_large) {
        found.large_objects++;
        found.large_bytes += __atomic_load_n(&s->large_bytes, __ATOMIC_RELAXED);
        return;
    }
    // Read while another thread changes it, the difference may be off by a few, also below 0.
    std::uint32_t live = live_slots(s);
    if (live > s->capacity) return;
    found.live_objects += live;
    found.live_bytes += std::uint64_t{live} * s->slot_bytes;
}

} // namespace

heap_statistics heap_statistics_get() {
    heap_statistics found{};
    home *h = home_here();
    if (h == nullptr || h->busy) return found; // a handler amid a slow path: the locks below may be this thread's own
    visit here(h);
    std::uint32_t frontier = arena_frontier();
    for (std::uint32_t unit = 1; unit < frontier; ++unit) add_unit(found, slab_at(unit));
    found.live_objects += found.large_objects;
    found.live_bytes += found.large_bytes;
    unit_statistics units = units_statistics();
    found.mapped_bytes = std::uint64_t{units.mapped} << unit_shift;
    found.cached_bytes = std::uint64_t{units.dirty_free} << unit_shift;
    found.metadata_bytes = metadata_mapped_bytes() + std::uint64_t{units.mapped} * sizeof(slab);
    found.homes = homes_count();
    return found;
}

} // namespace allot
