#include "alloc/active.hpp"

#include "accounting/base/os.hpp"
#include "alloc/adopt.hpp"
#include "alloc/alloc.hpp"
#include "alloc/callers.hpp"
#include "alloc/lock.hpp"
#include "alloc/switches.hpp"
#include "alloc/trace.hpp"
#include "alloc/visit.hpp"

#include <new>

namespace allot {

namespace {

// Which tenant is being reset; nullptr: none. Written under the lock; read by threads that begin to work for one after they
// have said for whom: the membarrier of tenant_closed is between. Its end is release and acquire: what was looked at for the
// reset was looked at before who finds it ended allocates.
struct closing {
    process_lock lock;
    std::atomic<allot_tenant *> tenant;
};
constinit closing closed{};

// Where there is no membarrier: of two who pass here, the second sees what the first stored before. acquire and release
// on one word do what two fences would, and the thread sanitizer understands it.
constinit std::atomic<std::uint32_t> passage{0};
void pass() { passage.fetch_add(1, std::memory_order_acq_rel); }

// Of the thread's own two steps; see the header.
void order_own_steps() {
    if (os_membarrier_mode() == membarrier_mode::private_expedited) [[likely]]
        std::atomic_signal_fence(std::memory_order_seq_cst);
    else
        pass();
}

allot_tenant *chosen() {
    return thread_here.active_tenant != nullptr ? thread_here.active_tenant : hooks::default_tenant();
}

// Who is meant by a handle that is null. Written by each thread that moves into a home, relaxed: the same, but in the child of
// a fork, before it has a second thread.
constinit std::atomic<allot_tenant *> root_here{nullptr};

heap *heap_of_slow(home *h, allot_tenant *tenant) {
    // No reference: the heap has held one for as long as it has been here, so what it names has not become another's.
    if (heap *a = heap_known(h, hooks::owner_now(tenant))) return a;
    std::uint32_t owner = hooks::owner_get(tenant);
    heap_comes_back(h, tenant);
    heap *a = heap_for_owner(h, owner);
    hooks::owner_put(owner); // the heap holds its own reference
    return a;
}

// In a visit; nullptr: no memory for a heap.
heap *heap_of(home *h, allot_tenant *tenant) {
    if (heap *a = switches_find(h, tenant)) return a;
    std::uint64_t ended = hooks::tenants_ended();
    heap *a = heap_of_slow(h, tenant);
    // A thread that has never chosen, nor works for its callers' tenants, needs no table.
    bool is_choice = thread_here.active_tenant != nullptr || thread_here.unaccounted != 0 || callers_matter();
    if (a != nullptr && is_choice && hooks::heap_serves(a->account, tenant)) switches_remember(h, tenant, a, ended);
    return a;
}

heap *chosen_heap(const home *h) { return h->chosen.load(std::memory_order_relaxed); }

// By the heap, which knows whom it belongs to when the tenant is gone, however long ago.
allot_tenant *chosen_now(const home *h) {
    for (;;) {
        heap *a = chosen_heap(h);
        allot_tenant *now = hooks::heap_tenant(a->account);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (chosen_heap(h) == a) return now; // no handler has made it another tenant's
    }
}

// What the fast path shall find.
heap_front *shown_front(const home *h) { return trace_is_on() ? &front_of_nobody : h->shown; }

// In a visit, or with signals blocked. Where there is no memory for it, frees are slow as well.
[[gnu::noinline]] heap_front *blank_front(home *h) {
    if (h->answers == nullptr)
        if (void *memory = metadata_alloc(sizeof(caller_answers)); memory != nullptr)
            h->answers = new (memory) caller_answers{};
    if (h->blank == nullptr)
        if (void *memory = wiped_alloc(sizeof(heap_front)); memory != nullptr)
            h->blank = new (memory) heap_front{.tag = h->tag};
    return h->blank != nullptr ? h->blank : &front_of_nobody;
}

// In a visit. In an unaccounted scope the root's, if it can be had.
void use_heap(home *h) {
    heap *roots = thread_here.unaccounted != 0 ? heap_of(h, hooks::root_tenant()) : nullptr;
    h->current = roots != nullptr ? roots : chosen_heap(h);
    h->shown = callers_matter() ? blank_front(h) : h->current->front;
    bool is_plain =
        thread_here.active_tenant != nullptr && thread_here.unaccounted == 0 && !trace_is_on() && !callers_matter();
    thread_here.switches = is_plain && hooks::accounted ? h->switches : nullptr;
    write_shared(thread_here.active, shown_front(h));
    order_own_steps();
}

// In a visit, or with signals blocked. The heap stays that of the tenant before where no other can be opened.
bool work_for(home *h, allot_tenant *tenant) {
    // release: who finds it here sees what the thread has done for the tenant before. That it is found in time, or the
    // closed tenant here, is what the membarrier is for.
    h->goes_to.store(tenant, std::memory_order_release);
    order_own_steps();
    if (allot_tenant *other = closed.tenant.load(std::memory_order_acquire); other != nullptr) [[unlikely]]
        if (living(tenant) == other) lock_guard wait(closed.lock);
    heap *a = heap_of(h, tenant);
    if (a != nullptr) h->chosen.store(a, std::memory_order_release); // it is filled in
    h->goes_to.store(nullptr, std::memory_order_release);            // who does not see it there sees the heap
    if (thread_here.active_tenant != nullptr) {
        h->active_ended = hooks::tenants_ended();
        thread_here.active_tenant = chosen_now(h);
    }
    use_heap(h);
    return a != nullptr;
}

// The home may be another one's by now: a thread that has said farewell leaves it with each visit.
bool is_asked_for(const home *h) {
    return thread_here.in_home == h && thread_here.moves_wait == 0 &&
           h->move_to.load(std::memory_order_relaxed) != nullptr;
}

// The tenant before. In the visit: a handler that comes earlier may change whom a heap serves.
allot_tenant *change_to(home *h, allot_tenant *tenant) {
    allot_tenant *before;
    {
        visit here(h);
        before = hooks::heap_tenant(thread_here.unaccounted != 0 ? chosen_heap(h)->account : h->current->account);
        thread_here.active_tenant = tenant;
        (void)work_for(h, tenant);
    }
    if (is_asked_for(h)) [[unlikely]]
        serve_requests(h);
    return before;
}

void change_scope(home *h) {
    if (h->busy) return;
    {
        visit here(h);
        use_heap(h);
    }
    if (is_asked_for(h)) [[unlikely]]
        serve_requests(h);
}

} // namespace

bool begin_to_work(home *h) {
    root_here.store(hooks::root_tenant(), std::memory_order_relaxed);
    h->current = h->own;
    h->shown = h->own->front;
    h->chosen.store(h->own, std::memory_order_release);
    if (!work_for(h, chosen())) return false;
    // A thread that has said farewell would leave the home again before its caller has used it.
    if (thread_here.farewells == 0 && is_asked_for(h)) [[unlikely]]
        serve_requests(h);
    return true;
}

void serve_requests(home *h) {
    if (trace_is_on() && !is_asked_for(h)) return; // it is to stay blank
    do {
        allot_tenant *to = nullptr;
        // acquire: the tenant was made before it was asked for.
        if (thread_here.moves_wait == 0) to = h->move_to.exchange(nullptr, std::memory_order_acquire);
        if (to != nullptr) {
            change_to(h, to);
        } else {
            write_shared(thread_here.active, shown_front(h));
            order_own_steps();
        }
    } while (is_asked_for(h));
}

void heap_show_again() {
    if (home *h = home_here(); h != nullptr) change_scope(h);
}

void order_all_threads() {
    if (!os_membarrier(os_membarrier_mode())) pass();
}

allot_tenant *living(allot_tenant *tenant) {
    std::uint32_t owner = hooks::owner_get(tenant);
    allot_tenant *now = hooks::tenant_of_owner(owner);
    hooks::owner_put(owner);
    return now;
}

bool is_of_now(allot_tenant *tenant) {
    if (!hooks::accounted || tenant == nullptr) return true;
    (void)home_here(); // repairs the child of a fork
    return living(tenant) == tenant;
}

tenant_closed::tenant_closed(allot_tenant *tenant) : tenant_(tenant) {
    closed.lock.lock();
    closed.tenant.store(tenant, std::memory_order_relaxed);
    hooks::tenants_ended_is_moot(); // so that each switch is a slow one, and looks
    order_all_threads();
}

tenant_closed::~tenant_closed() {
    closed.tenant.store(nullptr, std::memory_order_release);
    hooks::tenants_ended_counts();
    closed.lock.unlock();
}

bool tenant_closed::somebody_is_inside(const home *mine) const {
    for (const home *h = homes_first(); h != nullptr; h = h->next_home) {
        if (h == mine || h->state.load(std::memory_order_acquire) != home_state::lived_in) continue;
        allot_tenant *goes_to = h->goes_to.load(std::memory_order_acquire);
        if (goes_to != nullptr && (goes_to == tenant_ || living(goes_to) == tenant_)) return true;
        // acquire: whoever works for another one by now has finished with this one's slabs. It works for whoever the heap
        // belongs to now.
        const heap *chosen = h->chosen.load(std::memory_order_acquire);
        if (chosen != nullptr && hooks::tenant_of_owner(read_shared(chosen->owner)) == tenant_) return true;
    }
    return false;
}

void active_child_start() {
    // A handler amid a switch has forked, perhaps: it ends in a home that is no longer the thread's, and is to notice.
    if (home *h = thread_here.in_home)
        h->move_to.store(root_here.load(std::memory_order_relaxed), std::memory_order_relaxed);
    closed.lock.make_anew();
    closed.tenant.store(nullptr, std::memory_order_relaxed);
    hooks::tenants_ended_counts(); // whatever another thread of the parent was at
}

namespace {

[[gnu::noinline]] allot_tenant *set_active_slow(allot_tenant *tenant) {
    home *h = home_here();
    if (h == nullptr) return nullptr;
    if (h->busy) return chosen_now(h); // a handler amid a slow path, or a switch
    return change_to(h, tenant != nullptr ? tenant : hooks::root_tenant());
}

// The home is busy. The tenant is not known, or some tenant has ended since it was, or is being reset.
[[gnu::noinline, gnu::cold]] allot_tenant *set_active_anew(home *h, allot_tenant *tenant) {
    return change_to(h, tenant);
}

// The home is busy, all is done, and somebody has asked for a move meanwhile: it has been overruled.
[[gnu::noinline, gnu::cold]] allot_tenant *set_active_beside_move(home *h, allot_tenant *tenant, allot_tenant *before) {
    {
        visit here(h); // to another home, if the thread has got one: see active_child_start
        (void)work_for(h, tenant);
    }
    // acquire: as in serve_requests.
    if (allot_tenant *asked = is_asked_for(h) ? h->move_to.exchange(nullptr, std::memory_order_acquire) : nullptr)
        before = living(asked);
    return before;
}

[[gnu::noinline, gnu::cold]] allot_tenant *set_active_after_handler(home *h, allot_tenant *before) {
    free_postponed(h);
    return before;
}

// The steps of a switch that needs no slow path; the order of the thread's own steps is what `private_expedited` allows.
[[gnu::always_inline]] inline bool may_switch(const home *h) {
    return !h->busy && read_shared(membarrier_mode_here) == membarrier_mode::private_expedited;
}
// From here on handlers keep their hands off, also off what is known: they would have heaps serve others.
[[gnu::always_inline]] inline void begin_switch(home *h) {
    h->busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}
// Who resets the heap's tenant finds it, or is found by who looks at what has ended next.
[[gnu::always_inline]] inline void choose(home *h, heap *to) {
    h->chosen.store(to, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}
[[gnu::always_inline]] inline void end_switch(home *h) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    h->busy = false;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

} // namespace

allot_tenant *heap_set_active(allot_tenant *tenant) {
    const switch_table *table = thread_here.switches;
    if (table == nullptr) [[unlikely]]
        return set_active_slow(tenant);
    if (tenant == nullptr) [[unlikely]]
        tenant = root_here.load(std::memory_order_relaxed);
    switch_entry known;
    home *h = thread_here.in_home;
    if (!may_switch(h)) [[unlikely]]
        return set_active_slow(tenant);
    begin_switch(h);
    if (!switch_known(table, tenant, known)) [[unlikely]]
        return set_active_anew(h, tenant);
    choose(h, known.of);
    std::uint64_t ended = hooks::tenants_ended_if_not_moot();
    if (known.ended != ended || h->active_ended != ended) [[unlikely]]
        return set_active_anew(h, tenant);
    allot_tenant *before = thread_here.active_tenant;
    thread_here.active_tenant = tenant;
    h->current = known.of;
    h->shown = known.front;
    write_shared(thread_here.active, known.front);
    std::atomic_signal_fence(std::memory_order_seq_cst); // order_own_steps
    if (read_shared(h->move_to) != nullptr) [[unlikely]]
        return set_active_beside_move(h, tenant, before);
    end_switch(h);
    if (read_shared(h->postponed) != nullptr) [[unlikely]]
        return set_active_after_handler(h, before);
    return before;
}

namespace {

// In no unaccounted scope.
void *malloc_in_known(home *h, const switch_table *table, allot_tenant *tenant, std::size_t size) {
    switch_entry known;
    if (table == nullptr || size > medium_max_bytes || !may_switch(h)) [[unlikely]]
        return nullptr;
    begin_switch(h);
    void *p = nullptr;
    if (switch_known(table, tenant, known)) [[likely]] {
        choose(h, known.of);
        if (known.ended == hooks::tenants_ended_if_not_moot()) [[likely]]
            p = malloc_from_choice(known.of, size);
        h->chosen.store(h->current, std::memory_order_release);
    }
    end_switch(h);
    if (read_shared(h->postponed) != nullptr) [[unlikely]]
        free_postponed(h);
    return p;
}

} // namespace

void *heap_malloc_in_known(allot_tenant *tenant, std::size_t size) {
    return malloc_in_known(thread_here.in_home, thread_here.switches,
                           tenant != nullptr ? tenant : root_here.load(std::memory_order_relaxed), size);
}

void *malloc_in_passing(home *h, allot_tenant *tenant, std::size_t size) {
    return malloc_in_known(h, h->switches, tenant, size);
}

allot_tenant *heap_active() {
    home *h = home_here();
    return h == nullptr ? nullptr : chosen_now(h);
}

void heap_moves_wait_begin() { ++thread_here.moves_wait; }

void heap_moves_wait_end() {
    if (--thread_here.moves_wait != 0) return;
    home *h = thread_here.in_home;
    if (h != nullptr && !forked_since_start() && !h->busy && is_asked_for(h)) serve_requests(h);
}

void heap_unaccounted_begin() {
    home *h = home_here();
    if (h != nullptr && thread_here.unaccounted++ == 0) change_scope(h);
}

void heap_unaccounted_end() {
    home *h = home_here();
    if (h != nullptr && thread_here.unaccounted != 0 && --thread_here.unaccounted == 0) change_scope(h);
}

} // namespace allot
