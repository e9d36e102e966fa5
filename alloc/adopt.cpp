#include "alloc/adopt.hpp"

#include "accounting/base/os.hpp"
#include "alloc/active.hpp"
#include "alloc/fork.hpp"
#include "alloc/lock.hpp"
#include "alloc/metadata.hpp"
#include "alloc/partial_list.hpp"
#include "alloc/remote_free.hpp"

#include <new>

namespace allot {

namespace {

struct orphanage {
    process_lock lock;
    home *orphans; // under lock
    // Written under lock; read by walkers with acquire, so that they see the home behind it.
    std::atomic<home *> homes;
    std::uint64_t nr_homes; // under lock
    // Tags are unique for ever, and the child of a fork goes on counting.
    std::atomic<std::uint64_t> next_tag; // relaxed: only uniqueness matters
};
constinit orphanage all{.lock = {}, .orphans = nullptr, .homes = nullptr, .nr_homes = 0, .next_tag = first_tag};

home *make_home() {
    void *memory = lasting_alloc(sizeof(home));
    if (memory == nullptr) return nullptr;
    home *h = new (memory) home{};
    h->tag = all.next_tag.fetch_add(1, std::memory_order_relaxed);
    h->generation = process_generation();
    h->next_key = os_random() | 1;
    return h;
}

home *take_orphan_locked() {
    home *h = all.orphans;
    if (h != nullptr) {
        all.orphans = h->next_orphan;
        h->next_orphan = nullptr;
        h->state.store(home_state::lived_in, std::memory_order_relaxed);
    }
    return h;
}

void enter_locked(home *h) {
    h->thread = &thread_here;
    h->thread_id.store(os_tid(), std::memory_order_relaxed);
    h->goes_to.store(nullptr, std::memory_order_release); // as in active.cpp; also for who lived here before
    h->move_to.store(nullptr, std::memory_order_relaxed);
}

home *enter_orphan() {
    lock_guard guard(all.lock);
    home *h = take_orphan_locked();
    if (h != nullptr) enter_locked(h);
    return h;
}

home *enter_new_home() {
    home *h = make_home();
    if (h == nullptr) return nullptr;
    lock_guard guard(all.lock);
    h->state.store(home_state::lived_in, std::memory_order_relaxed);
    enter_locked(h);
    h->next_home = all.homes.load(std::memory_order_relaxed);
    all.homes.store(h, std::memory_order_release);
    all.nr_homes++;
    return h;
}

void move_slab(home *from, home *mine, slab *s) {
    if (s->kind == unit_kind::private_slab) {
        heap *theirs = heap_of(s), *own = heap_for_owner(mine, s->obj_cgroup);
        if (own == nullptr) return; // stays where it is; its inbox is still collected
        if (s->place == slab_place::listed) {
            partial_unlink(theirs->partial[s->size_class], s);
            partial_link(own->partial[s->size_class], s);
        }
        theirs->nr_slabs--;
        own->nr_slabs++;
        heap_forget_slab(s);
        s->choice = &own->choice.of_class[s->size_class];
        s->account = hooks::make_slab_part(own->account, s->slot_bytes);
        // Unless a transfer has made it `nobody`, or does at this moment: that stays, whichever comes first.
        std::uint64_t tag = from->tag;
        __atomic_compare_exchange_n(&s->owner, &tag, mine->tag, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    } else if (s->place == slab_place::listed) {
        partial_unlink(from->shared_partial[s->size_class], s);
        partial_link(mine->shared_partial[s->size_class], s);
    }
    __atomic_store_n(&s->at_home, mine, __ATOMIC_RELEASE);
}

} // namespace

home *home_move_in() {
    home *h = enter_orphan();
    return h != nullptr ? h : enter_new_home();
}

void home_leave(home *h) {
    signals_blocked quiet; // a handler without a home would wait for the lock that this thread holds
    if (thread_here.in_home != h || forked_since_start()) return; // a handler has forked: it is a parent's
    if (h->postponed.load(std::memory_order_relaxed) != nullptr) free_postponed(h);
    h->busy = true;
    remote_flush(h);
    remote_collect(h);
    home_return_empty_slabs(h);
    for (heap *a = h->heaps; a != nullptr; a = a->next) hooks::heap_park(a->account);
    h->more_heaps = 0;
    h->current = nullptr;
    h->chosen.store(nullptr, std::memory_order_relaxed);
    write_shared(thread_here.active, &front_of_nobody);
    thread_here.in_home = nullptr;
    thread_here.switches = nullptr;
    h->busy = false;
    lock_guard guard(all.lock);
    h->thread = nullptr;
    h->thread_id.store(0, std::memory_order_relaxed);
    h->goes_to.store(nullptr, std::memory_order_release);
    h->next_orphan = all.orphans;
    all.orphans = h;
    // seq_cst, as in remote_flush: whoever pushes either sees the orphan and collects for it, or is collected here.
    h->state.store(home_state::orphaned, std::memory_order_seq_cst);
    remote_collect(h);
}

void adopt_collect_for(home *orphan) {
    lock_guard guard(all.lock);
    if (orphan->state.load(std::memory_order_relaxed) == home_state::orphaned) remote_collect(orphan);
}

bool adopt_absorb(home *mine) {
    home *from;
    {
        lock_guard guard(all.lock);
        from = take_orphan_locked();
    }
    if (from == nullptr) return false;
    remote_collect(from);
    for (std::uint32_t unit = 1; unit < arena_frontier(); ++unit) {
        slab *s = slab_at(unit);
        // As in list_all_with_room: what it is before whose it is.
        if (is_cut(s) && __atomic_load_n(&s->at_home, __ATOMIC_ACQUIRE) == from &&
            s->generation == process_generation())
            move_slab(from, mine, s);
    }
    for (heap *a = from->heaps; a != nullptr; a = a->next) hooks::heap_park(a->account);
    lock_guard guard(all.lock);
    from->next_orphan = nullptr; // at the end: with no slabs it is the least useful to move into
    home **end = &all.orphans;
    while (*end != nullptr) end = &(*end)->next_orphan;
    *end = from;
    from->state.store(home_state::orphaned, std::memory_order_seq_cst); // as in home_leave
    remote_collect(from);
    return true;
}

bool adopt_ask(std::uint32_t thread_id, allot_tenant *to) {
    lock_guard guard(all.lock); // who lives in a home stays there, and its thread's storage with it
    for (home *h = homes_first(); h != nullptr; h = h->next_home) {
        if (h->thread == nullptr || h->thread_id.load(std::memory_order_relaxed) != thread_id) continue;
        h->move_to.store(to, std::memory_order_release);
        order_all_threads(); // see active.hpp
        write_shared(h->thread->active, &front_of_nobody);
        return true;
    }
    return false;
}

home *homes_first() { return all.homes.load(std::memory_order_acquire); }

std::uint64_t homes_count() {
    lock_guard guard(all.lock);
    return all.nr_homes;
}

void adopt_child_start() {
    all.lock.make_anew();
    all.orphans = nullptr;
    all.homes.store(nullptr, std::memory_order_relaxed);
    all.nr_homes = 0;
}

} // namespace allot
