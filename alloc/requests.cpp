#include "alloc/requests.hpp"

#include "alloc/fork.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/page_source.hpp"
#include "alloc/visit.hpp"

namespace allot {

namespace {

// The second half of the vector.
std::uint32_t *requests_of(const slab *s) { return owners_of(s) + unit_bytes / s->slot_bytes; }

} // namespace

void note_request_exactly(void *p, std::size_t size) {
    if (!arena_contains(p)) return; // another allocator's
    slab *s = slab_of(p);
    if (s->generation != process_generation() || kind_of(s) != unit_kind::shared_slab) return;
    auto asked = static_cast<std::uint32_t>(size < s->slot_bytes ? size : s->slot_bytes);
    write_shared(requests_of(s)[slot_index_of(s, p)], asked);
}

namespace {

template<typename Add>
void add_slots(const slab *s, Add add) {
    const std::uint32_t *owners = owners_of(s), *requests = requests_of(s);
    std::uint32_t carved = read_shared(s->carved);
    for (std::uint32_t i = 0; i < carved; ++i) {
        std::uint32_t owner = __atomic_load_n(&owners[i], __ATOMIC_RELAXED) & ~in_transfer;
        if (owner != 0) add(owner, __atomic_load_n(&requests[i], __ATOMIC_RELAXED), s->slot_bytes);
    }
}

template<typename Add>
void add_unit(const slab *s, Add add) {
    units_held hold;
    unit_kind kind = kind_of(s);
    if (kind != unit_kind::shared_slab && kind != unit_kind::large) return;
    if (s->generation != process_generation()) return;
    if (kind == unit_kind::shared_slab) return add_slots(s, add);
    std::uint64_t usable = __atomic_load_n(&s->large_bytes, __ATOMIC_RELAXED);
    std::uint32_t slack = __atomic_load_n(&s->large_slack, __ATOMIC_RELAXED);
    add(__atomic_load_n(&s->obj_cgroup, __ATOMIC_RELAXED) & ~in_transfer, usable > slack ? usable - slack : 0, usable);
}

} // namespace

void requested_exactly(void (*add)(void *state, std::uint32_t owner, std::uint64_t requested, std::uint64_t usable),
                       void *state) {
    home *h = home_here();
    if (h == nullptr || h->busy) return; // a handler amid a slow path: the lock may be this thread's own
    visit here(h);
    std::uint32_t frontier = arena_frontier();
    for (std::uint32_t unit = 1; unit < frontier; ++unit)
        add_unit(slab_at(unit), [=](std::uint32_t owner, std::uint64_t requested, std::uint64_t usable) {
            add(state, owner, requested, usable);
        });
}

} // namespace allot
