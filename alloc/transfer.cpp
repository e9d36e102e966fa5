#include "alloc/transfer.hpp"

#include "accounting/base/os.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/trace.hpp"
#include "alloc/visit.hpp"

#include <cerrno>

namespace allot {

namespace {

// Where the owner of a live block is written; nullptr: no memory for a vector.
std::uint32_t *entry_of(slab *s, const void *p) {
    if (s->kind == unit_kind::large) return &s->obj_cgroup;
    std::uint32_t *owners = owner_vector_make(s);
    if (owners == nullptr) return nullptr;
    // release: with the vector. Whoever frees this block, or another that was transferred, comes after it.
    if (s->kind == unit_kind::private_slab) __atomic_store_n(&s->owner, nobody, __ATOMIC_RELEASE);
    return &owners[slot_index_of(s, p)];
}

// Marks the entry as this thread's and returns what it was.
std::uint32_t claim(std::uint32_t &entry) {
    std::uint32_t seen = __atomic_load_n(&entry, __ATOMIC_RELAXED);
    for (;;) {
        if ((seen & in_transfer) != 0) { // by another thread, which waits for nothing of ours
            os_yield();
            seen = __atomic_load_n(&entry, __ATOMIC_RELAXED);
        } else if (__atomic_compare_exchange_n(&entry, &seen, seen | in_transfer, false, __ATOMIC_ACQUIRE,
                                               __ATOMIC_RELAXED)) {
            return seen;
        }
    }
}

int move(slab *s, const void *p, std::uint32_t to, hooks::unsettled &left) {
    std::size_t bytes = s->kind == unit_kind::large ? s->large_bytes : s->slot_bytes;
    std::uint32_t *entry = entry_of(s, p);
    if (entry == nullptr) return -ENOMEM;
    std::uint32_t was = claim(*entry);
    bool is_slabs_own = was == 0; // of a private slab
    std::uint32_t from = is_slabs_own ? s->obj_cgroup : was;
    if (!hooks::transfer(from, to, bytes, left)) {
        __atomic_store_n(entry, was, __ATOMIC_RELEASE);
        return -ENOMEM;
    }
    bool back_to_slabs_own = s->kind == unit_kind::private_slab && to == s->obj_cgroup;
    if (!back_to_slabs_own) hooks::owner_grab(to); // the entry's own; the caller holds one
    __atomic_store_n(entry, back_to_slabs_own ? 0 : to, __ATOMIC_RELEASE);
    if (!is_slabs_own) hooks::owner_put(from);
    return 0;
}

int move_live(home *h, void *p, std::uint32_t to, hooks::unsettled &left) {
    visit here(h);
    if (p == nullptr || !arena_contains(p)) return -EINVAL;
    slab *s = slab_of(p);
    if (!is_live_block(s, p)) return -EINVAL;
    // Whose it is already it stays, whatever handle names him.
    if (hooks::tenant_of_owner(owner_of_block(s, p)) == hooks::tenant_of_owner(to)) return 0;
    int error = move(s, p, to, left);
    if (error == 0) trace_transfer(h, p, to);
    return error;
}

} // namespace

int heap_transfer(void *p, allot_tenant *to) {
    if (to == nullptr) to = hooks::root_tenant();
    for (hooks::unsettled left{};;) {
        home *h = home_here();
        if (h == nullptr || h->busy) return -ENOMEM;
        std::uint32_t owner = hooks::owner_get(to);
        // An owner stands for the nearest living ancestor where the tenant is gone.
        int error = hooks::tenant_of_owner(owner) == to ? move_live(h, p, owner, left) : -ESTALE;
        if (error == 0 && hooks::settle_is_due()) hooks::settle_charge(owner);
        hooks::owner_put(owner);
        // Outside of the visit, as in attempts.hpp.
        if (error != -ENOMEM || !hooks::settle_is_due() || !hooks::settle(left)) return error;
    }
}

} // namespace allot
