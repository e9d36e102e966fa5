#include "alloc/reset.hpp"

#include "alloc/active.hpp"
#include "alloc/fork.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/page_source.hpp"
#include "alloc/remote_free.hpp"
#include "alloc/trace.hpp"
#include "alloc/visit.hpp"

#include <cerrno>

namespace allot {

namespace {

// Whether indices name the tenant; neighbours mostly have one owner, so the last answer is kept. Within one unit only: what is
// freed afterwards may be the last that names an index, which is somebody else's then.
class ownership {
public:
    explicit ownership(allot_tenant *tenant) : tenant_(tenant) {}
    bool operator()(std::uint32_t owner) {
        if (owner == 0 || (owner & in_transfer) != 0) return false;
        if (owner != last_) {
            last_ = owner;
            last_is_ = hooks::tenant_of_owner(owner) == tenant_;
        }
        return last_is_;
    }

private:
    allot_tenant *tenant_;
    std::uint32_t last_ = 0;
    bool last_is_ = false;
};

// With units held. Marks and chains what lives in the slab and is the tenant's.
void take_slots(home *h, slab *s, ownership is_his) {
    const std::uint32_t *owners = owners_of(s);
    bool is_private = s->kind == unit_kind::private_slab;
    bool has_his = is_private && is_his(s->obj_cgroup);
    if (owners == nullptr && !has_his) return;
    std::uint32_t carved = read_shared(s->carved);
    for (std::uint32_t i = 0; i < carved; ++i) {
        std::uint32_t entry = owners == nullptr ? 0 : __atomic_load_n(&owners[i], __ATOMIC_RELAXED);
        if (entry == 0 ? !has_his : !is_his(entry)) continue;
        void *slot = reinterpret_cast<void *>(address_of(s) + std::uintptr_t{i} * s->slot_bytes);
        if (marked_free(__atomic_load_n(&first_word(slot), __ATOMIC_RELAXED), s->remote_key)) continue;
        trace_free(h, slot);
        mark_free(slot, s);
        postpone_free(h, slot);
    }
}

void take_large(home *h, slab *s, ownership is_his) {
    if (!is_his(__atomic_load_n(&s->obj_cgroup, __ATOMIC_RELAXED))) return;
    auto *block = reinterpret_cast<void *>(address_of(s));
    trace_free(h, block);
    set_kind(s, unit_kind::free); // as large_free
    postpone_free(h, block);
}

void take_from_unit(home *h, slab *s, allot_tenant *tenant) {
    units_held hold;
    unit_kind kind = kind_of(s);
    if (kind != unit_kind::private_slab && kind != unit_kind::shared_slab && kind != unit_kind::large) return;
    if (s->generation != process_generation()) return;
    if (kind == unit_kind::large)
        take_large(h, s, ownership(tenant));
    else
        take_slots(h, s, ownership(tenant));
}

} // namespace

int heap_reset(allot_tenant *tenant) {
    home *h = home_here();
    if (h == nullptr || h->busy) return -ENOMEM;
    if (tenant == nullptr || tenant == hooks::root_tenant()) return -EINVAL;
    if (living(tenant) != tenant) return -ESTALE;
    {
        visit here(h); // at its end all that was taken is freed
        tenant_closed closed(tenant);
        if (closed.somebody_is_inside(h)) return -EBUSY;
        for (std::uint32_t unit = 1; unit < arena_frontier(); ++unit) {
            take_from_unit(h, slab_at(unit), tenant);
            // Slab by slab, while it is in the cache.
            if (h->postponed.load(std::memory_order_relaxed) != nullptr) free_postponed_now(h);
        }
        remote_flush(h);
    }
    return 0;
}

} // namespace allot
