#include "alloc/active.hpp"

#include "accounting/base/os.hpp"
#include "alloc/adopt.hpp"
#include "alloc/alloc.hpp"
#include "alloc/callers.hpp"
#include "alloc/lock.hpp"
#include "alloc/metadata.hpp"
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

// Where a home remembers which heap a handle led to. Handles of tenants made one after the other differ in their low bits.
std::size_t tenant_slot(allot_tenant *tenant) { return reinterpret_cast<std::uintptr_t>(tenant) % home::nr_by_tenant; }

// In a visit; nullptr: no memory for a heap.
heap *heap_of(home *h, allot_tenant *tenant) {
    heap *&seen = h->by_tenant[tenant_slot(tenant)];
    if (seen != nullptr && hooks::heap_serves(seen->account, tenant)) [[likely]]
        return seen;
    // No reference: the heap has held one for as long as it has been here, so what it names has not become another's.
    if (heap *a = heap_known(h, hooks::owner_now(tenant))) return seen = a;
    std::uint32_t owner = hooks::owner_get(tenant);
    heap_comes_back(h, tenant);
    heap *a = heap_for_owner(h, owner);
    hooks::owner_put(owner); // the heap holds its own reference
    return a != nullptr ? seen = a : nullptr;
}

heap *chosen_heap(const home *h) { return h->chosen.load(std::memory_order_relaxed); }

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
    write_shared(thread_here.active, shown_front(h));
    order_own_steps();
}

// In a visit, or with signals blocked. The heap stays that of the tenant before where no other can be opened.
bool work_for(home *h, allot_tenant *tenant) {
    // release: who finds it here sees what the thread has done for the tenant before. That it is found in time, or the
    // closed tenant here, is what the membarrier is for.
    h->works_for.store(tenant, std::memory_order_release);
    order_own_steps();
    if (allot_tenant *other = closed.tenant.load(std::memory_order_acquire); other != nullptr) [[unlikely]]
        if (living(tenant) == other) lock_guard wait(closed.lock);
    heap *a = heap_of(h, tenant);
    if (a != nullptr) h->chosen.store(a, std::memory_order_release); // it is filled in
    use_heap(h);
    return a != nullptr;
}

// The home may be another one's by now: a thread that has said farewell leaves it with each visit.
bool is_asked_for(const home *h) {
    return thread_here.in_home == h && thread_here.moves_wait == 0 &&
           h->move_to.load(std::memory_order_relaxed) != nullptr;
}

// By the heap, which knows whom it belongs to when the tenant is gone, however long ago.
allot_tenant *chosen_now(const home *h) { return hooks::heap_tenant(chosen_heap(h)->account); }

void change_to(home *h, allot_tenant *tenant) {
    thread_here.active_tenant = tenant;
    if (h->busy) return; // a handler amid a slow path
    {
        visit here(h);
        (void)work_for(h, tenant);
    }
    if (is_asked_for(h)) [[unlikely]]
        serve_requests(h);
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

// Without a visit, as the fast path; but the tenant may be reset, so that the thread says for whom it works, as in work_for.
// What it said before is told by thread_here, which a handler may have changed meanwhile.
void *malloc_in_passing(home *h, allot_tenant *tenant, std::size_t size) {
    heap *a = h->by_tenant[tenant_slot(tenant)];
    if (a == nullptr || !hooks::heap_serves(a->account, tenant)) return nullptr;
    h->works_for.store(tenant, std::memory_order_release);
    order_own_steps();
    void *p = closed.tenant.load(std::memory_order_acquire) == nullptr ? malloc_from_bins(a, size) : nullptr;
    allot_tenant *own;
    do {
        own = chosen();
        h->works_for.store(own, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (own != chosen());
    return p;
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
    order_all_threads();
}

tenant_closed::~tenant_closed() {
    closed.tenant.store(nullptr, std::memory_order_release);
    closed.lock.unlock();
}

bool tenant_closed::somebody_is_inside(const home *mine) const {
    for (const home *h = homes_first(); h != nullptr; h = h->next_home) {
        if (h == mine || h->state.load(std::memory_order_acquire) != home_state::lived_in) continue;
        // acquire: whoever works for another one by now has finished with this one's slabs.
        allot_tenant *works_for = h->works_for.load(std::memory_order_acquire);
        if (works_for != nullptr && (works_for == tenant_ || living(works_for) == tenant_)) return true;
        // What it goes by is gone, or its heap could not be changed: it works for whoever the heap belongs to now.
        const heap *chosen = h->chosen.load(std::memory_order_acquire);
        if (chosen != nullptr && hooks::tenant_of_owner(read_shared(chosen->owner)) == tenant_) return true;
    }
    return false;
}

void active_child_start() {
    closed.lock.make_anew();
    closed.tenant.store(nullptr, std::memory_order_relaxed);
}

allot_tenant *heap_set_active(allot_tenant *tenant) {
    home *h = home_here();
    if (h == nullptr) return nullptr;
    allot_tenant *before = chosen_now(h);
    change_to(h, tenant != nullptr ? tenant : hooks::root_tenant());
    return before;
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
