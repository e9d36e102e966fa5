#include "alloc/owner_vector.hpp"

#include "alloc/fork.hpp"
#include "alloc/metadata.hpp"
#include "alloc/misuse.hpp"

namespace allot {

std::uint32_t *owner_vector_make(slab *s) {
    if (std::uint32_t *there = owners_of(s); there != nullptr) return there;
    auto *fresh = static_cast<std::uint32_t *>(metadata_alloc(owner_vector_bytes(s->slot_bytes)));
    if (fresh == nullptr) return nullptr;
    std::uint32_t *seen = nullptr;
    // release: its zeros are seen with it; acquire, where another thread was first.
    if (__atomic_compare_exchange_n(&s->owners, &seen, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return fresh;
    metadata_free(fresh, owner_vector_bytes(s->slot_bytes));
    return seen;
}

std::uint32_t owner_of_block(const slab *s, const void *p) {
    unit_kind kind = kind_of(s);
    if (kind == unit_kind::large) return __atomic_load_n(&s->obj_cgroup, __ATOMIC_RELAXED) & ~in_transfer;
    if (kind != unit_kind::private_slab && kind != unit_kind::shared_slab) return 0;
    const std::uint32_t *owners = owners_of(s);
    std::uint32_t entry =
        owners == nullptr ? 0 : __atomic_load_n(&owners[slot_index_of(s, p)], __ATOMIC_RELAXED) & ~in_transfer;
    return entry == 0 && kind == unit_kind::private_slab ? s->obj_cgroup : entry;
}

bool is_live_block(const slab *s, const void *p) {
    unit_kind kind = kind_of(s);
    if (s->generation != process_generation()) return false;
    if (kind == unit_kind::large) return reinterpret_cast<std::uintptr_t>(p) == address_of(s);
    if (!is_cut(s) || reinterpret_cast<std::uintptr_t>(p) % granule_bytes != 0) return false;
    std::uint32_t granule = static_cast<std::uint32_t>(granule_of(p)) & granule_mask;
    if (!slot_starts_at(s, granule) || slot_index(s, granule) >= read_shared(s->carved)) return false;
    if (marked_free(*static_cast<const std::uint64_t *>(p), s->remote_key)) return false;
    return kind == unit_kind::private_slab || owner_of_block(s, p) != 0;
}

taken_owner take_owner(slab *s, void *slot) {
    bool is_private = s->kind == unit_kind::private_slab;
    std::uint32_t *owners = owners_of(s);
    if (owners == nullptr) return {s->obj_cgroup, false};
    std::uint32_t &entry = owners[slot_index_of(s, slot)];
    std::uint32_t owner = __atomic_load_n(&entry, __ATOMIC_RELAXED);
    if (owner == 0 && is_private) return {s->obj_cgroup, false};
    owner = __atomic_exchange_n(&entry, 0, __ATOMIC_RELAXED);
    if (owner == 0 || (owner & in_transfer) != 0)
        misuse_invalid(s, slot); // another thread frees or transfers it at this moment
    return {owner, true};
}

} // namespace allot
