#include "alloc/heap.hpp"

#include "alloc/adopt.hpp"
#include "alloc/attempts.hpp"
#include "alloc/callers.hpp"
#include "alloc/emergency.hpp"
#include "alloc/fork.hpp"
#include "alloc/large.hpp"
#include "alloc/metadata.hpp"
#include "alloc/misuse.hpp"
#include "alloc/owner_vector.hpp"
#include "alloc/page_source.hpp"
#include "alloc/partial_list.hpp"
#include "alloc/remote_free.hpp"
#include "alloc/requests.hpp"
#include "alloc/trace.hpp"

#include <cerrno>
#include <cstring>
#include <new>

namespace allot {

constinit const malloc_tables tables = [] {
    malloc_tables t{.none = {}, .classes = make_class_table()};
    for (slab *&s : t.none.of_class) s = &always_empty_slab;
    return t;
}();
constinit heap_front front_of_nobody{.tag = no_tag};
constinit thread_local thread_state thread_here{&front_of_nobody, nullptr, nullptr, nullptr, 0, 0, 0};

namespace {

// Slots are listed by the page: a fresh slab touches no more memory than it must. What an earlier use of the unit has
// touched is in memory already, so that it is listed in larger steps.
constexpr std::size_t carve_bytes = 4096;
constexpr std::size_t warm_carve_bytes = 32768;

std::uint64_t new_key(home *h) { // xorshift64 (Marsaglia, 2003): unpredictable enough to tell links from data
    std::uint64_t x = h->next_key;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return h->next_key = x;
}

// How many slots to list at once, from a distance from the unit's start on.
std::uint32_t slots_to_carve(const slab *s, std::size_t at) {
    std::size_t touched = std::size_t{s->touched_pages} * carve_bytes, bytes = carve_bytes;
    if (touched > at + carve_bytes) bytes = touched - at < warm_carve_bytes ? touched - at : warm_carve_bytes;
    auto count = static_cast<std::uint32_t>(bytes / s->slot_bytes);
    if (count == 0) count = 1;
    return count < s->capacity - s->carved ? count : s->capacity - s->carved;
}

// Lists more slots of a slab that has none listed. False: all are carved.
bool carve(home *h, slab *s) {
    if (s->carved == s->capacity) return false;
    std::size_t at = std::size_t{s->carved} * s->slot_bytes;
    std::uint32_t count = slots_to_carve(s, at);
    std::uintptr_t first = address_of(s) + at;
    if (at >= std::size_t{s->touched_pages} * carve_bytes) h->fresh_slot = first;
    std::uintptr_t next = s->list;
    for (std::uint32_t i = count; i-- > 0;) {
        std::uintptr_t slot = first + std::uintptr_t{i} * s->slot_bytes;
        first_word(reinterpret_cast<void *>(slot)) = next ^ s->key;
        next = slot;
    }
    s->list = next;
    write_shared(s->carved, s->carved + count);
    return true;
}

// What depends on the size of the slots. Of a slab that is still cut all this is there, and so are its slots.
void cut(home *h, slab *s, unsigned size_class) {
    std::uint32_t slot_bytes = static_cast<std::uint32_t>(class_bytes(size_class));
    std::uint64_t inverse = inverse_of(slot_bytes);
    s->list = end_of_list(address_of(s));
    s->key = new_key(h);
    s->remote_key = s->key ^ address_of(s);
    s->key_upper = static_cast<std::uint32_t>(s->remote_key >> 32);
    s->inverse = static_cast<std::uint32_t>(inverse);
    s->inverse_limit = static_cast<std::uint32_t>(inverse - 1);
    s->slot_bytes = slot_bytes;
    s->size_class = static_cast<std::uint8_t>(size_class);
    s->capacity = static_cast<std::uint32_t>(unit_bytes / slot_bytes);
    write_shared(s->carved, std::uint32_t{0});
}

// Of a slab that is still cut, whose slots were freed in whatever order: given out in theirs again, they are next to each other.
// Where a page has not several of them, their order is no matter.
void list_anew(slab *s) {
    if (s->slot_bytes >= carve_bytes) return;
    s->list = end_of_list(address_of(s));
    write_shared(s->carved, std::uint32_t{0});
}

// Its fields are all written before its kind says what it is. a: whose it is; nullptr: shared, with this vector.
slab *new_slab(home *h, unsigned size_class, heap *a, std::uint32_t *owners) {
    slab_unit unit = units_alloc_for_slab(size_class);
    if (unit.first == 0) return nullptr;
    slab *s = slab_at(unit.first);
    if (unit.is_cut)
        list_anew(s);
    else
        cut(h, s, size_class);
    // From now on written by compare-and-swap (adopt.cpp) or to `nobody` (transfer.cpp), until the unit is free again.
    write_shared(s->owner, a != nullptr ? h->tag : nobody);
    write_shared(s->countdown, std::uint32_t{0});
    write_shared(s->balance, std::int32_t{0});
    s->choice = a != nullptr ? &a->choice.of_class[size_class] : nullptr;
    s->owners = owners;
    s->obj_cgroup = a != nullptr ? a->owner : 0;
    s->place = slab_place::listed;
    s->generation = process_generation();
    s->next = s->prev = 0;
    __atomic_store_n(&s->at_home, h, __ATOMIC_RELEASE);
    if (a != nullptr) s->account = hooks::make_slab_part(a->account, s->slot_bytes);
    set_kind(s, a != nullptr ? unit_kind::private_slab : unit_kind::shared_slab);
    return s;
}

slab *new_private_slab(home *h, heap *a, unsigned size_class) {
    slab *s = new_slab(h, size_class, a, nullptr);
    if (s == nullptr) return nullptr;
    hooks::owner_grab(a->owner);
    a->nr_slabs++;
    return s;
}

slab *new_shared_slab(home *h, unsigned size_class) {
    std::size_t vector_bytes = owner_vector_bytes(static_cast<std::uint32_t>(class_bytes(size_class)));
    void *vector = metadata_alloc(vector_bytes);
    if (vector == nullptr) return nullptr;
    slab *s = new_slab(h, size_class, nullptr, static_cast<std::uint32_t *>(vector));
    if (s == nullptr) metadata_free(vector, vector_bytes);
    return s;
}

void set_place(slab *s, slab_place place) {
    std::uint32_t live = live_slots(s);
    s->place = place;
    std::uint32_t countdown = place == slab_place::in_bin   ? live + 1
                              : place == slab_place::listed ? live
                                                            : frees_before_listing(s->capacity);
    write_shared(s->countdown, countdown);
    write_shared(s->balance, static_cast<std::int32_t>(live - countdown));
}

// The unit that sits in the bin of the class, of a heap or (nullptr) of all small tenants; 0: none.
std::uint32_t &bin_of(home *h, heap *a, unsigned size_class) {
    return a != nullptr ? a->bins[size_class] : h->shared_bins[size_class];
}

void take_out_of_bin(home *h, slab *s) {
    bin_of(h, s->kind == unit_kind::private_slab ? heap_of(s) : nullptr, s->size_class) = 0;
}

bool has_slot(home *h, slab *s) { return (s->list & 1) == 0 || carve(h, s); }

void *refused() {
    errno = ENOMEM;
    return nullptr;
}

std::uint32_t &partial_list_of(home *h, slab *s) {
    return s->kind == unit_kind::private_slab ? heap_of(s)->partial[s->size_class] : h->shared_partial[s->size_class];
}

// No unit can be had. Nearly full slabs that wait for more frees are listed now. True if there was one.
bool list_all_with_room(home *h) {
    bool any = false;
    for (std::uint32_t unit = 1; unit < arena_frontier(); ++unit) {
        slab *s = slab_at(unit);
        // What it is before whose it is: a unit that another thread takes meanwhile gets its home first.
        if (!is_cut(s) || __atomic_load_n(&s->at_home, __ATOMIC_ACQUIRE) != h || s->generation != process_generation())
            continue;
        if (s->place != slab_place::full || !has_room(s)) continue;
        set_place(s, slab_place::listed);
        partial_link(partial_list_of(h, s), s);
        any = true;
    }
    return any;
}

// Slabs that malloc has chosen may be used up while they are listed.
void unlist_used_up(std::uint32_t &list) {
    while (list != 0 && !has_room(slab_at(list))) {
        slab *s = slab_at(list);
        partial_unlink(list, s);
        set_place(s, slab_place::full);
    }
}

// A slab of the class with a free slot, out of every list: the last listed, else a new one; nullptr: no memory. Before it
// says so, it looks at slabs that wait for more frees, and at those of every orphan.
slab *find_slab(home *h, heap *a, unsigned size_class) {
    std::uint32_t &list = a != nullptr ? a->partial[size_class] : h->shared_partial[size_class];
    unlist_used_up(list);
    if (list == 0 && remote_collect(h)) unlist_used_up(list);
    for (std::uint64_t orphans = 0; list == 0; ++orphans, unlist_used_up(list)) {
        slab *s = a != nullptr ? new_private_slab(h, a, size_class) : new_shared_slab(h, size_class);
        if (s != nullptr) return s;
        if (list_all_with_room(h) && list != 0) break;
        if (orphans >= homes_count() || !adopt_absorb(h)) return nullptr;
    }
    slab *s = slab_at(list);
    partial_unlink(list, s);
    return s;
}

// Whether carving would touch memory that nobody has touched.
bool would_be_fresh(const slab *s) {
    return s->carved < s->capacity &&
           std::size_t{s->carved} * s->slot_bytes >= std::size_t{s->touched_pages} * carve_bytes;
}

// A slab in a bin has no slot listed. One of the class that has, if carving more of the first would touch fresh memory: what
// has come back meanwhile serves before that. nullptr: none.
slab *warmer_slab(home *h, heap *a, slab *in_bin) {
    if (!would_be_fresh(in_bin)) return nullptr;
    if (remote_collect(h) && (in_bin->list & 1) == 0) return in_bin;
    std::uint32_t &list = a != nullptr ? a->partial[in_bin->size_class] : h->shared_partial[in_bin->size_class];
    if (list == 0 || (slab_at(list)->list & 1) != 0) return nullptr;
    slab *s = slab_at(list);
    partial_unlink(list, s);
    take_out_of_bin(h, in_bin);
    set_place(in_bin, slab_place::listed);
    partial_link(list, in_bin); // behind it are others that are warmer, perhaps: they come when it is used up
    return s;
}

// A slab with a free slot in the bin of the class, of a heap or (nullptr) of all small tenants of this home together;
// nullptr: no memory.
slab *refill_bin(home *h, heap *a, unsigned size_class) {
    slab *s = nullptr;
    if (std::uint32_t bin = bin_of(h, a, size_class); bin != 0) {
        slab *in_bin = slab_at(bin);
        if ((in_bin->list & 1) == 0) return in_bin;
        s = warmer_slab(h, a, in_bin);
        if (s == in_bin || (s == nullptr && carve(h, in_bin))) return in_bin;
        if (s == nullptr) {
            take_out_of_bin(h, in_bin);
            set_place(in_bin, slab_place::full);
        }
    }
    home_look(h, units_now_ms());
    if (a != nullptr) hooks::heap_fold(a->account);
    if (s == nullptr) s = find_slab(h, a, size_class);
    if (s == nullptr) return nullptr;
    set_place(s, slab_place::in_bin);
    bin_of(h, a, size_class) = unit_of(s);
    return has_slot(h, s) ? s : nullptr;
}

// Whether objects come and go so often that the class that is asked for now is to have slabs of its own; counts it.
bool has_traffic(home *h, heap *a) {
    if (a->shared_frees < graduation_frees || h->graduated_by_traffic >= max_graduated_by_traffic) return false;
    a->shared_frees = 0;
    a->graduated_by_traffic++;
    h->graduated_by_traffic++;
    return true;
}

void *alloc_shared(home *h, heap *a, unsigned size_class) {
    hooks::heap_fold(a->account);
    if (!hooks::charge_object(a->account, class_bytes(size_class))) return refused();
    slab *s = refill_bin(h, nullptr, size_class);
    if (s == nullptr) {
        hooks::uncharge_object(a->account, class_bytes(size_class));
        return refused();
    }
    void *slot = slab_pop(s);
    __atomic_store_n(&s->owners[slot_index_of(s, slot)], a->owner, __ATOMIC_RELAXED); // relaxed: as the block itself
    hooks::owner_grab(a->owner);
    if (!hooks::keeps_requests() &&
        (++a->shared_live[size_class] * class_bytes(size_class) >= graduation_bytes || has_traffic(h, a)))
        a->graduated |= std::uint64_t{1} << size_class;
    return slot;
}

} // namespace

void heap_forget_slab(const slab *s) {
    if (*s->choice != s) return;
    std::uint32_t bin = heap_of(s)->bins[s->size_class];
    *s->choice = bin != 0 ? slab_at(bin) : &always_empty_slab;
}

namespace {

void discard(slab *s) {
    if (s->kind == unit_kind::private_slab) {
        heap_forget_slab(s);
        heap_of(s)->nr_slabs--;
        hooks::owner_put(s->obj_cgroup);
    }
    std::uint32_t *owners = owners_of(s);
    std::size_t vector_bytes = owner_vector_bytes(s->slot_bytes);
    units_free_cut(unit_of(s), std::size_t{s->carved} * s->slot_bytes);
    if (owners != nullptr) metadata_free(owners, vector_bytes); // after its unit: see units_held
}

// The countdown of a slab outside the bins is 0.
void change_place(home *h, slab *s) {
    if (s->place == slab_place::full) {
        set_place(s, slab_place::listed);
        partial_link(partial_list_of(h, s), s);
    }
    if (live_slots(s) == 0) {
        partial_unlink(partial_list_of(h, s), s);
        discard(s);
    }
}

void credit_and_put(home *h, taken_owner owner, std::size_t bytes) {
    credit(h, owner.index, bytes);
    if (owner.has_reference) hooks::owner_put(owner.index);
}

void free_at_home(home *h, slab *s, void *p) {
    bool is_private = s->kind == unit_kind::private_slab;
    if (is_private && owners_of(s) == nullptr) {
        hooks::slab_part account = s->account;
        slot_return(h, s, p);
        if (!hooks::uncharge(account)) hooks::uncharge_slow(account);
        return;
    }
    taken_owner owner = take_owner(s, p);
    std::size_t bytes = s->slot_bytes;
    unsigned size_class = s->size_class;
    // The slab may go with this slot, and its reference with it.
    if (!owner.has_reference) hooks::owner_grab(owner.index);
    owner.has_reference = true;
    slot_return(h, s, p);
    if (!is_private)
        if (heap *a = heap_for_owner(h, owner.index); a != nullptr) {
            if (a->shared_live[size_class] > 0) a->shared_live[size_class]--;
            if (a->shared_frees < graduation_frees) a->shared_frees++;
        }
    credit_and_put(h, owner, bytes);
}

void free_from_afar(home *h, slab *s, void *p) {
    credit_and_put(h, take_owner(s, p), s->slot_bytes);
    remote_free(h, s, p);
}

void free_checked_slot(home *h, slab *s, void *p) {
    if (__atomic_load_n(&s->at_home, __ATOMIC_ACQUIRE) == h)
        free_at_home(h, s, p);
    else
        free_from_afar(h, s, p);
}

void free_slot_slow(home *h, slab *s, void *p) {
    check_live_slot(s, p);
    if (s->generation != process_generation()) // inherited by fork: its memory is shared until written to
        return hooks::free_inherited(owner_of_block(s, p), s->slot_bytes);
    trace_free(h, p);
    if (h->busy) {
        mark_free(p, s);
        return postpone_free(h, p);
    }
    visit here(h);
    if (s->generation == process_generation()) free_checked_slot(h, s, p); // a handler's child may have begun anew
}

} // namespace

void postpone_free(home *h, void *p) {
    void *seen = h->postponed.load(std::memory_order_relaxed);
    do static_cast<void **>(p)[1] = seen;
    while (!h->postponed.compare_exchange_weak(seen, p, std::memory_order_relaxed, std::memory_order_relaxed));
}

void free_postponed_now(home *h) {
    for (void *p = h->postponed.exchange(nullptr, std::memory_order_relaxed); p != nullptr;) {
        void *next = static_cast<void **>(p)[1];
        slab *s = slab_of(p);
        if (is_cut(s))
            free_checked_slot(h, s, p);
        else
            large_free_taken(h, s);
        p = next;
    }
}

void free_postponed(home *h) {
    do {
        h->busy = true;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        free_postponed_now(h);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        h->busy = false;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (h->postponed.load(std::memory_order_relaxed) != nullptr);
}

void credit(home *h, std::uint32_t owner, std::size_t bytes) {
    if (heap *a = heap_for_owner(h, owner); a != nullptr)
        hooks::uncharge_object(a->account, bytes);
    else
        hooks::uncharge_owners(owner, bytes);
}

void slot_return(home *h, slab *s, void *slot) {
    write_shared(first_word(slot), s->list ^ s->key); // as slab_push; who resets a tenant may look at the word
    s->list = reinterpret_cast<std::uintptr_t>(slot);
    if (add_shared(s->countdown, minus_one_slot) == 0) change_place(h, s);
}

void *alloc_class_slow(home *h, heap *a, unsigned size_class) {
    if (hooks::accounted && (a->graduated >> size_class & 1) == 0) return alloc_shared(h, a, size_class);
    slab *s = a->choice.of_class[size_class];
    if ((s->list & 1) != 0) {
        s = refill_bin(h, a, size_class);
        if (s == nullptr) return refused();
        choose(s);
    }
    void *slot = slab_pop(s);
    if (!hooks::charge(s->account) && !hooks::charge_slow(s->account)) {
        slot_return(h, s, slot);
        return refused();
    }
    return slot;
}

namespace {

// What was asked for, and what that takes, for the estimate of what is requested. Of a heap with slabs of its own one
// request in a page is seen here, and stands for that page.
void sample_request(heap *a, std::size_t size, std::size_t usable, bool is_shared) {
    constexpr std::uint64_t enough = std::uint64_t{1} << 30; // from here on the past counts half as much
    std::uint64_t weight = is_shared || usable > carve_bytes ? usable : carve_bytes;
    std::uint64_t all = a->sampled_usable + weight, asked = a->sampled_requested + weight * size / usable;
    bool is_much = all > enough;
    write_shared(a->sampled_usable, is_much ? all / 2 : all);
    write_shared(a->sampled_requested, is_much ? asked / 2 : asked);
}

void *malloc_in_visit(home *h, std::size_t size) {
    heap *a = h->current;
    if (size > medium_max_bytes) {
        void *p = large_alloc(h, a, size, granule_bytes).block;
        if (hooks::accounted && p != nullptr) sample_request(a, size, slab_of(p)->large_bytes, false);
        return p;
    }
    unsigned size_class = class_of(size);
    bool is_shared = (a->graduated >> size_class & 1) == 0;
    void *p = alloc_class_slow(h, a, size_class);
    note_request(p, size);
    if (hooks::accounted && p != nullptr) sample_request(a, size, class_bytes(size_class), is_shared);
    trace_alloc(h, p, size, class_bytes(size_class));
    return p;
}

} // namespace

// The reserve; and a child that needs more than that begins anew: it has interrupted what may never end.
void *alloc_amid_slow_path(std::size_t size, std::size_t alignment) {
    int error = errno;
    void *p = emergency_alloc(size, alignment);
    if (p != nullptr || !forked_since_start()) return p;
    errno = error;
    fork_repair();
    return heap_aligned_alloc(alignment, size);
}

void *malloc_from_choice(heap *a, std::size_t size) {
    if (size > medium_max_bytes) return nullptr;
    slab *s = a->choice.of_class[class_in(tables.classes, size)];
    if ((s->list & 1) != 0) return nullptr;
    void *slot = slab_pop(s);
    if (hooks::charge(s->account)) [[likely]]
        return slot;
    (void)hooks::uncharge(s->account); // a slow path that is due remains due
    slab_push(s, slot);
    add_shared(s->countdown, minus_one_slot);
    return nullptr;
}

void *malloc_slow(std::size_t size) {
    home *h = home_here();
    if (h == nullptr) return refused();
    if (h->busy) return alloc_amid_slow_path(size, granule_bytes);
    if (void *p = trace_fast_malloc(h, size); p != nullptr) return p;
    if (void *p = callers_fast_malloc(h, size); p != nullptr) return p;
    return trace_refusal(settled_attempts(h, [size](home *in) { return malloc_in_visit(in, size); }), size);
}

void *malloc_charge_slow(void *slot, slab *s) {
    if (s->generation != process_generation()) return slot; // a handler amid the fast path has forked
    home *h = thread_here.in_home;
    if (h->busy) { // in a signal handler that interrupted a slow path: the context's lock may be this thread's own
        (void)hooks::uncharge(s->account);
        slab_push(s, slot);
        add_shared(s->countdown, minus_one_slot);
        return alloc_amid_slow_path(s->slot_bytes, granule_bytes);
    }
    unsigned size_class = s->size_class;
    return settled_attempts(h, [=](home *in) mutable {
        if (slot == nullptr) return alloc_class_slow(in, in->current, size_class);
        if (hooks::charge_slow(s->account)) return slot;
        slot_return(in, s, slot);
        return slot = refused();
    });
}

// A slot that is handed out for the first time, of memory that nobody has touched, is zero as it is.
void *calloc_slow(std::size_t size) {
    home *h = home_here();
    if (h == nullptr) return refused();
    if (h->busy) { // the reserve is not kept clear
        void *p = alloc_amid_slow_path(size, granule_bytes);
        return p == nullptr ? nullptr : std::memset(p, 0, size);
    }
    if (void *p = trace_fast_malloc(h, size); p != nullptr) return std::memset(p, 0, size);
    if (void *p = callers_fast_malloc(h, size); p != nullptr) return std::memset(p, 0, size);
    bool is_fresh = false;
    void *p = settled_attempts(h, [size, &is_fresh](home *in) {
        in->fresh_slot = 0;
        void *slot = malloc_in_visit(in, size);
        is_fresh = slot != nullptr && in->fresh_slot == reinterpret_cast<std::uintptr_t>(slot);
        return slot;
    });
    return is_fresh || p == nullptr ? trace_refusal(p, size) : std::memset(p, 0, size);
}

void *calloc_charge_slow(void *slot, slab *s, std::size_t size) {
    void *p = malloc_charge_slow(slot, s);
    return p == nullptr ? nullptr : std::memset(p, 0, size);
}

void free_slow(void *p) {
    if (p == nullptr) return;
    if (!arena_contains(p)) return foreign_pointers.free(p);
    slab *s = slab_of(p);
    home *h = home_here();
    switch (kind_of(s)) {
    case unit_kind::private_slab:
    case unit_kind::shared_slab:
        if (h != nullptr && !trace_fast_free(h, s, p)) free_slot_slow(h, s, p);
        return;
    case unit_kind::large: return large_free(h, s, p);
    case unit_kind::reserve: return emergency_free();
    case unit_kind::free:
    case unit_kind::large_tail:
    case unit_kind::unmapped:
    case unit_kind::abandoned: misuse_invalid(s, p);
    }
}

void free_place_slow(slab *s) {
    if (s->generation != process_generation()) return; // as in malloc_charge_slow
    home *h = thread_here.in_home;
    if (h->busy) { // in a signal handler: the push is undone, and the slot freed when the visit ends
        void *slot = reinterpret_cast<void *>(s->list);
        s->list = first_word(slot) ^ s->key;
        add_shared(s->countdown, one_slot);
        mark_free(slot, s);
        return postpone_free(h, slot);
    }
    hooks::slab_part account = s->account;
    visit here(h);
    // Unless a handler has done so: it has used the slab and freed the last slot of it once more.
    if (is_cut(s) && s->place != slab_place::cut && read_shared(s->countdown) == 0) {
        choose(s);
        change_place(h, s);
    }
    if (!hooks::uncharge(account)) hooks::uncharge_slow(account);
}

void free_uncharge_slow(slab *s) {
    if (s->generation != process_generation()) return;
    home *h = thread_here.in_home;
    // A handler amid a slow path says so too: a stock that drains know nothing of would refuse others.
    if (h->busy) return hooks::uncharge_slow(s->account);
    visit here(h);
    hooks::uncharge_slow(s->account);
}

namespace {

void empty_bin(home *h, std::uint32_t bin) {
    if (bin == 0) return;
    slab *s = slab_at(bin);
    take_out_of_bin(h, s);
    set_place(s, has_room(s) ? slab_place::listed : slab_place::full);
    if (live_slots(s) == 0)
        discard(s);
    else if (s->place == slab_place::listed)
        partial_link(partial_list_of(h, s), s);
}

} // namespace

void heap_return_empty_slabs(home *h, heap *a) {
    constexpr std::uint64_t all = ~std::uint64_t{0} >> (64 - nr_classes);
    for (std::uint64_t classes = a->graduated & all; classes != 0; classes &= classes - 1) {
        std::uint32_t bin = a->bins[__builtin_ctzll(classes)];
        if (bin != 0 && live_slots(slab_at(bin)) == 0) empty_bin(h, bin);
    }
}

void home_return_empty_slabs(home *h) {
    for (unsigned c = 0; c < nr_classes; ++c) {
        for (heap *a = h->heaps; a != nullptr; a = a->next) empty_bin(h, a->bins[c]);
        empty_bin(h, h->shared_bins[c]);
    }
}

namespace {

[[gnu::noinline]] void home_look_now(home *h, std::uint64_t now_ms) {
    purge_settings settings = units_purge_settings();
    if (settings.delay_ms == never_purge) {
        h->next_look_ms = never_purge;
        return;
    }
    bool was_left_alone = now_ms >= h->next_look_ms + settings.delay_ms;
    h->next_look_ms = now_ms + settings.delay_ms / 4;
    std::uint32_t keep = units_statistics().dirty_free;
    home_return_empty_slabs(h);
    if (was_left_alone) (void)units_purge(keep < settings.retain_units ? settings.retain_units : keep);
}

} // namespace

void home_look(home *h, std::uint64_t now_ms) {
    if (now_ms >= h->next_look_ms) [[unlikely]]
        home_look_now(h, now_ms);
}

} // namespace allot
