#include "alloc/large.hpp"

#include "accounting/base/units.hpp"
#include "alloc/adopt.hpp"
#include "alloc/fork.hpp"
#include "alloc/misuse.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/page_source.hpp"
#include "alloc/trace.hpp"
#include "alloc/visit.hpp"

#include "accounting/base/os.hpp"

#include <cerrno>
#include <cstddef>

namespace allot {

namespace {

constexpr std::size_t usable_of(std::size_t size) { return (size + page_bytes - 1) & ~(std::size_t{page_bytes} - 1); }
constexpr std::uint32_t units_of(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + unit_bytes - 1) >> unit_shift);
}

large_block none() {
    errno = ENOMEM;
    return {nullptr, false};
}

unit_run take_units(std::uint32_t count, std::size_t alignment) {
    return alignment > unit_bytes ? units_alloc_aligned(count, alignment) : units_alloc(count);
}

void set_tails(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first; i < first + count; ++i) set_kind(slab_at(i), unit_kind::large_tail);
}

} // namespace

large_block large_alloc(home *h, heap *a, std::size_t size, std::size_t alignment) {
    if (size > arena_max_bytes || alignment > arena_max_bytes) return none();
    std::size_t bytes = usable_of(size == 0 ? 1 : size);
    std::uint32_t count = units_of(bytes);
    hooks::heap_fold(a->account);
    if (!hooks::charge_object(a->account, bytes)) return none();
    unit_run run = take_units(count, alignment);
    if (run.first == 0) {
        hooks::uncharge_object(a->account, bytes);
        return none();
    }
    slab *s = slab_at(run.first);
    set_tails(run.first + 1, count - 1);
    write_shared(s->owner, nobody);
    s->obj_cgroup = a->owner;
    s->generation = process_generation();
    s->large_bytes = bytes;
    s->large_slack = static_cast<std::uint32_t>(bytes - size);
    s->slot_bytes = 0;
    hooks::owner_grab(a->owner);
    set_kind(s, unit_kind::large);
    auto *block = reinterpret_cast<void *>(address_of(s));
    trace_alloc(h, block, size, bytes);
    return {block, run.clean};
}

void large_free(home *h, slab *s, void *p) {
    if (reinterpret_cast<std::uintptr_t>(p) != address_of(s)) misuse_invalid(s, p);
    std::size_t bytes = s->large_bytes;
    if (s->generation != process_generation()) { // inherited by fork: the pages that this process copied go back
        (void)os_give_back(address_of(s), bytes);
        set_kind(s, unit_kind::abandoned);
        return;
    }
    // Of two threads that free it at the same time, one finds it free already.
    std::uint8_t was = __atomic_exchange_n(reinterpret_cast<std::uint8_t *>(&s->kind),
                                           static_cast<std::uint8_t>(unit_kind::free), __ATOMIC_ACQ_REL);
    if (was != static_cast<std::uint8_t>(unit_kind::large)) misuse_invalid(s, p);
    trace_free(h, p);
    if (h == nullptr) // nowhere to keep books: it stays, charged
        return set_kind(s, unit_kind::abandoned);
    if (h->busy) return postpone_free(h, p);
    visit here(h);
    large_free_taken(h, s);
}

void large_free_taken(home *h, slab *s) {
    std::size_t bytes = s->large_bytes;
    std::uint32_t owner = __atomic_load_n(&s->obj_cgroup, __ATOMIC_RELAXED);
    if ((owner & in_transfer) != 0) misuse_invalid(s, reinterpret_cast<void *>(address_of(s)));
    units_free(unit_of(s), units_of(bytes));
    credit(h, owner, bytes);
    hooks::owner_put(owner);
}

large_resize_result large_resize(home *h, slab *s, std::size_t size) {
    using enum large_resize_result;
    if (size > arena_max_bytes || s->generation != process_generation()) return must_move;
    std::size_t was = s->large_bytes, bytes = usable_of(size);
    if ((was >= direct_charge_bytes) != (bytes >= direct_charge_bytes))
        return must_move; // the two are kept in different books
    heap *a = heap_for_owner(h, owner_of_block(s, reinterpret_cast<void *>(address_of(s))));
    if (a == nullptr) return must_move;
    std::uint32_t first = unit_of(s), has = units_of(was), needs = units_of(bytes);
    if (bytes > was) {
        if (!hooks::charge_growth(a->account, was, bytes)) return a == h->current ? refused : must_move;
        if (needs > has && !units_extend(first, has, needs - has)) {
            hooks::uncharge_shrinkage(a->account, bytes, was);
            return must_move;
        }
        set_tails(first + has, needs - has);
    } else if (bytes < was) {
        if (needs < has) units_free(first + needs, has - needs);
        hooks::uncharge_shrinkage(a->account, was, bytes);
    }
    // Who adds up what is alive may look meanwhile.
    write_shared(s->large_bytes, std::uint64_t{bytes});
    write_shared(s->large_slack, static_cast<std::uint32_t>(bytes - size));
    return resized;
}

} // namespace allot
