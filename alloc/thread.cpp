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
#include "alloc/switches.hpp"
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
    if (thread_here.in_home != nullptr) home_leave(thread_here.in_home);
    write_shared(thread_here.active, &front_of_nobody);
    thread_here.in_home = nullptr;
    thread_here.switches = nullptr;
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

// A heap that no slab names and no thread allocates from right now may be given to another owner, once there are so many.
// A thread whose tenants come back keeps more, so that those who take turns do not open and close a context each time.
constexpr std::uint32_t max_idle_heaps = 64;
constexpr std::uint32_t max_more_heaps = 2048;
constexpr std::uint32_t looks_for_idle =
    16; // heaps that own slabs are passed over; the next search goes on behind them

bool is_idle(home *h, heap *a) {
    if (a == h->own || a == h->current || a == h->chosen.load(std::memory_order_relaxed)) return false;
    if (a->nr_slabs != 0) heap_return_empty_slabs(h, a);
    return a->nr_slabs == 0;
}

heap *idle_heap_to_reuse(home *h, std::uint32_t looks) {
    for (; looks != 0; --looks) {
        heap *a = h->reuse_next != nullptr ? h->reuse_next : h->heaps;
        if (a == nullptr) return nullptr;
        h->reuse_next = a; // whoever is credited but does not allocate is closed by the next of his kind
        if (is_idle(h, a)) return a;
        h->reuse_next = a->next;
    }
    return nullptr;
}

void join_chain(home *h, heap *a) {
    heap *&chain = h->tables->by_owner[a->owner % home_tables::nr_by_owner];
    a->next_by_owner = chain;
    chain = a;
}

// Where there is no memory for them the list of heaps is walked, however long.
void note_owner(home *h, heap *a) {
    if (h->tables != nullptr) return join_chain(h, a);
    if (h->nr_heaps <= home_tables::heaps_without) return;
    h->tables = static_cast<home_tables *>(lasting_alloc(sizeof(home_tables))); // zero as they are
    if (h->tables == nullptr) return;
    for (heap *each = h->heaps; each != nullptr; each = each->next) join_chain(h, each);
}

void leave_chain(home *h, heap *a) {
    if (h->tables == nullptr) return;
    heap **at = &h->tables->by_owner[a->owner % home_tables::nr_by_owner];
    while (*at != a) at = &(*at)->next_by_owner;
    *at = a->next_by_owner;
}

// A handle is an index and a generation: no two tenants have the same, whatever records they use.
std::uint32_t hash_of(allot_tenant *handle) {
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15) >> 32);
}

void close_idle_heap(home *h, heap *a) {
    switches_forget(h, a);
    hooks::heap_close(a->account);
    std::uint32_t hash = hash_of(hooks::tenant_of_owner(a->owner)); // of its heir if it is gone: then nobody comes back
    if (h->tables != nullptr) h->tables->closed[hash % home_tables::nr_closed] = hash;
    hooks::owner_put(a->owner);
    leave_chain(h, a);
    h->graduated_by_traffic -= a->graduated_by_traffic;
    a->graduated_by_traffic = a->shared_frees = 0;
    // No slab names it, so its bins and lists are empty already.
    a->front->tag = 0;
    a->graduated = 0;
    for (std::uint16_t &live : a->shared_live) live = 0;
    write_shared(a->sampled_requested, std::uint64_t{0});
    write_shared(a->sampled_usable, std::uint64_t{0});
}

heap *new_heap(home *h) {
    void *seen = wiped_alloc(sizeof(heap_front)), *memory = seen == nullptr ? nullptr : lasting_alloc(sizeof(heap));
    if (memory == nullptr) return nullptr;
    heap *a = new (memory) heap{.front = new (seen) heap_front{}};
    a->front->of = a;
    a->front->choice = reinterpret_cast<std::uintptr_t>(&a->choice) - reinterpret_cast<std::uintptr_t>(&tables.none);
    a->next = h->heaps;
    __atomic_store_n(&h->heaps, a, __ATOMIC_RELEASE);
    h->nr_heaps++;
    return a;
}

heap *open_heap(home *h, std::uint32_t owner) {
    heap *idle = h->nr_heaps > max_idle_heaps + h->more_heaps ? idle_heap_to_reuse(h, looks_for_idle) : nullptr;
    heap *a = idle != nullptr ? nullptr : new_heap(h);
    if (a == nullptr) {
        a = idle != nullptr ? idle : idle_heap_to_reuse(h, h->nr_heaps);
        if (a == nullptr) return nullptr;
        close_idle_heap(h, a);
    }
    a->in_home = h;
    write_shared(a->owner, owner);
    hooks::owner_grab(owner); // also where no context can be opened: the index must not become somebody else's
    hooks::heap_open(a->account, owner);
    a->front->tag = h->tag;
    return a;
}

} // namespace

heap *heap_for_owner(home *h, std::uint32_t owner) {
    if (heap *a = heap_known(h, owner)) return a;
    heap *a = open_heap(h, owner);
    if (a == nullptr) return nullptr;
    note_owner(h, a);
    return a;
}

void heap_comes_back(home *h, allot_tenant *tenant) {
    if (h->tables == nullptr) return;
    std::uint32_t hash = hash_of(tenant);
    std::uint32_t &closed = h->tables->closed[hash % home_tables::nr_closed];
    if (closed != hash) return;
    closed = 0;
    h->more_heaps += h->more_heaps / 8 + 8;
    if (h->more_heaps > max_more_heaps) h->more_heaps = max_more_heaps;
}

home *home_here() {
    home *h = thread_here.in_home;
    if (h != nullptr && (h->busy || !forked_since_start())) [[likely]] {
        if (!h->busy && read_shared(thread_here.active) != h->shown) [[unlikely]]
            serve_requests(h);
        if (thread_here.in_home == h) [[likely]] // after its farewell a thread leaves with each visit
            return h;
    }
    if (forked_since_start()) fork_repair();
    if (!start_process()) return nullptr;
    if (thread_here.in_home != nullptr) return thread_here.in_home; // the start itself allocated
    signals_blocked quiet; // a handler would find half a home, or wait for a lock that this thread holds
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
void heap_after_fork() {
    const home *h = thread_here.in_home;
    if (h == nullptr || !h->busy) heap_start();
}

} // namespace allot
