#include "accounting/base/os.hpp"
#include "alloc/active.hpp"
#include "alloc/adopt.hpp"
#include "alloc/alloc.hpp"
#include "alloc/emergency.hpp"
#include "alloc/fork.hpp"
#include "alloc/heap.hpp"
#include "alloc/lock.hpp"
#include "alloc/metadata.hpp"
#include "alloc/page_source.hpp"
#include "alloc/thread_moves.hpp"
#include "alloc/visit.hpp"

#include <new>
#include <pthread.h>

namespace allot {

namespace {

enum class start_state : std::uint32_t { not_yet, done, failed };

// The process as a whole.
struct process_start {
    process_lock lock;
    std::atomic<start_state> state; // written under lock; acquire: what the start made is seen with it
    pthread_key_t key;              // its destructor is how the end of a thread is seen
    bool has_key;
};
constinit process_start process{};

void thread_ends(void *) {
    thread_here.farewells++;
    if (thread_here.in_home != nullptr && thread_here.in_home->tag != 0) home_leave(thread_here.in_home);
    write_shared(thread_here.active, &heap_of_nobody);
    thread_here.in_home = nullptr;
}

bool start_process() {
    if (process.state.load(std::memory_order_acquire) == start_state::done) return true;
    lock_guard guard(process.lock);
    if (process.state.load(std::memory_order_relaxed) != start_state::not_yet)
        return process.state.load(std::memory_order_relaxed) == start_state::done;
    bool ok = units_start();
    if (ok) {
        emergency_start();
        (void)wiped_alloc(128); // sets the mark that tells a forked child
        process.has_key = pthread_key_create(&process.key, thread_ends) == 0;
        // Without a region everything goes on uncounted; the hooks see to that.
        (void)hooks::start(hooks::accounted ? recount : nullptr);
    }
    process.state.store(ok ? start_state::done : start_state::failed, std::memory_order_release);
    return ok;
}

// A heap that no slab names and no thread allocates from right now may be given to another owner.
constexpr std::uint32_t max_idle_heaps = 64;

heap *idle_heap_to_reuse(home *h, std::uint32_t at_least) {
    std::uint32_t idle = 0;
    heap *last = nullptr;
    for (heap *a = h->heaps; a != nullptr; a = a->next)
        if (a->nr_slabs == 0 && a != h->own && a != h->current && a != h->chosen.load(std::memory_order_relaxed)) {
            idle++;
            last = a;
        }
    return idle >= at_least ? last : nullptr;
}

void close_idle_heap(home *h, heap *a) {
    hooks::heap_close(a->account);
    hooks::owner_put(a->owner);
    if (h->by_owner[a->owner % home::nr_by_owner] == a) h->by_owner[a->owner % home::nr_by_owner] = nullptr;
    // No slab names it, so its bins and lists are empty already.
    a->tag = 0;
    a->graduated = 0;
    for (std::uint16_t &live : a->shared_live) live = 0;
    write_shared(a->sampled_requested, std::uint64_t{0});
    write_shared(a->sampled_usable, std::uint64_t{0});
}

heap *new_heap(home *h) {
    void *memory = wiped_alloc(sizeof(heap));
    if (memory == nullptr) return nullptr;
    heap *a = new (memory) heap{};
    a->next = h->heaps;
    __atomic_store_n(&h->heaps, a, __ATOMIC_RELEASE);
    return a;
}

heap *open_heap(home *h, std::uint32_t owner) {
    heap *idle = idle_heap_to_reuse(h, max_idle_heaps + 1);
    heap *a = idle != nullptr ? nullptr : new_heap(h);
    if (a == nullptr) {
        a = idle != nullptr ? idle : idle_heap_to_reuse(h, 1);
        if (a == nullptr) return nullptr;
        close_idle_heap(h, a);
    }
    a->in_home = h;
    write_shared(a->owner, owner);
    hooks::owner_grab(owner); // also where no context can be opened: the index must not become somebody else's
    hooks::heap_open(a->account, owner);
    a->tag = h->tag;
    return a;
}

} // namespace

heap *heap_for_owner(home *h, std::uint32_t owner) {
    heap *&cached = h->by_owner[owner % home::nr_by_owner];
    if (cached != nullptr && cached->owner == owner) return cached;
    for (heap *a = h->heaps; a != nullptr; a = a->next)
        if (a->owner == owner) return cached = a;
    heap *a = open_heap(h, owner);
    if (a != nullptr) h->by_owner[owner % home::nr_by_owner] = a;
    return a;
}

home *home_here() {
    home *h = thread_here.in_home;
    if (h != nullptr && h->tag != 0) [[likely]] {
        if (read_shared(thread_here.active) != h->current && !h->busy) [[unlikely]]
            serve_requests(h);
        if (thread_here.in_home == h) [[likely]] // after its farewell a thread leaves with each visit
            return h;
    }
    if (forked_since_start()) fork_repair();
    if (!start_process()) return nullptr;
    if (thread_here.in_home != nullptr && thread_here.in_home->tag != 0)
        return thread_here.in_home; // the start itself allocated
    signals_blocked quiet;          // a handler would find half a home, or wait for a lock that this thread holds
    h = home_move_in();
    if (h == nullptr) return nullptr;
    thread_here.in_home = h;
    std::uint32_t owner = hooks::owner_get(hooks::default_tenant());
    h->own = heap_for_owner(h, owner);
    hooks::owner_put(owner);
    if (h->own != nullptr)
        h->own->graduated =
            ~std::uint64_t{0}; // what most programs are: one tenant, with slabs of its own from the start
    if (h->own == nullptr || !begin_to_work(h)) {
        home_leave(h);
        return nullptr;
    }
    serve_waiting_move(h);
    if (process.has_key && thread_here.farewells == 0)
        pthread_setspecific(process.key, h); // may allocate: the home is in place by now
    return h;
}

void thread_child_start() {
    if (process.state.load(std::memory_order_relaxed) != start_state::done) process.lock.make_anew();
}

void heap_start() { (void)home_here(); }

} // namespace allot
