// Homes and heaps: what a thread allocates from.
//
// A home is a thread's whole stock of slabs; when the thread ends, the home is orphaned and the next thread moves in, so
// slabs are never left behind. A heap is one tenant's share of a home: the slabs that malloc looks into, and the books
// that hooks keep. A home's heaps all carry the home's tag, so freeing another tenant's object on the same thread is as
// fast as freeing one's own.
//
//     thread_local active ──► front of a heap (tenant A) ──► choice ──► headers of slabs, one a class
//                             front of a heap (tenant B) …    └ 0 ──► slabs that are always empty: the slow path
//
// Small tenants do not own slabs: their objects share the home's shared slabs, which name an owner a slot. A class
// graduates to private slabs once a heap holds a quarter slab of it.
//
// Threads: a home and its heaps are used by the thread that lives in them, the inbox apart. Orphaned ones are used by
//   whoever holds the lock of adopt.cpp.
// Owner: fronts lie in wiped memory (metadata.hpp), so a forked child finds zeros there: tag 0, no choice. All else is copied
//   by the fork: a handler may fork amid a slow path, and the child then ends the call that was interrupted, in what was its
//   parent's home, before it begins anew (visit.hpp).
// Invariants: 1. tag is unique for ever, in a process and its forked descendants; 0 is wiped, no_tag has no home.
//   2. bins and the choice name private slabs of the heap, or none.
#pragma once

#include "alloc/arena.hpp"

namespace allot {

inline constexpr std::uint64_t no_tag = 1;
inline constexpr std::uint64_t first_tag = 2;

// A class of a heap that holds this many live bytes in shared slabs gets slabs of its own.
inline constexpr std::size_t graduation_bytes = unit_bytes / 4;
// So does a class that is allocated when this many of a heap's objects in shared slabs have been freed since the last one
// did: traffic, which the shared path makes slow. Each costs a page at least, so there are only so many of a home.
inline constexpr std::uint32_t graduation_frees = 128;
inline constexpr std::uint32_t max_graduated_by_traffic = 1024;

// The home of remote frees to come: chained up to this many, then pushed with one compare-and-swap.
inline constexpr std::uint32_t chain_max = 32;

// Where malloc looks: a slab for each class. Never null.
struct slab_choice {
    slab *of_class[nr_classes];
};
// What malloc reads and nobody writes, in one piece, so that one register leads to all of it.
struct malloc_tables {
    slab_choice none; // all name always_empty_slab, which leads to the slow path: what a thread without a heap finds
    class_table classes;
};
[[gnu::visibility("hidden")]] extern const malloc_tables tables;

// What the fast path sees of a heap.
struct heap_front {
    std::uint64_t tag = 0;
    std::uintptr_t choice = 0; // its heap's, as a distance from tables.none
    heap *of = nullptr;
};
[[gnu::always_inline]] inline slab *chosen_slab(const heap_front *front, std::size_t size_class) {
    auto *choice =
        reinterpret_cast<const slab_choice *>(reinterpret_cast<std::uintptr_t>(&tables.none) + front->choice);
    return choice->of_class[size_class];
}
// A slab in which a slot has just been freed is the next that malloc looks at: that slot's line is in the cache.
[[gnu::always_inline]] inline void choose(slab *s) { *s->choice = s; }

struct heap {
    heap_front *front = nullptr; // written once
    // Objects in shared slabs that were freed since a class graduated for it, and how many did.
    std::uint16_t shared_frees = 0, graduated_by_traffic = 0;

    home *in_home = nullptr;
    [[no_unique_address]] hooks::heap_part account = {};
    heap *next = nullptr;        // in the home; written once
    std::uint64_t graduated = 0; // one bit a class
    // What slow paths were asked for, and what that took, weighted by the slots it made ready. Written by the thread, read by
    // who estimates what is requested.
    std::uint64_t sampled_requested = 0, sampled_usable = 0;
    std::uint32_t owner = 0;          // whom its objects are charged to: an obj_cgroup index
    std::uint32_t nr_slabs = 0;       // private slabs that name this heap
    heap *next_by_owner = nullptr;    // in the home's chain
    allot_tenant *known_as = nullptr; // in the home's table of switches; nullptr: it is not there
    slab_choice choice = tables.none;
    std::uint32_t bins[nr_classes] = {}; // units of the slabs in the bins; 0: none
    std::uint16_t shared_live[nr_classes] =
        {}; // objects in shared slabs, allocated minus freed by this home; an estimate
    std::uint32_t partial[nr_classes] =
        {}; // first unit of the list of private slabs with free slots that sit in no bin
};
static_assert(nr_classes <= 64);
// Of a private slab.
inline heap *heap_of(const slab *s) {
    return reinterpret_cast<heap *>(reinterpret_cast<char *>(s->choice - s->size_class) - offsetof(heap, choice));
}
static_assert(graduation_bytes / granule_bytes < 1u << 16, "shared_live counts up to graduation");

struct caller_answers;

struct free_chain { // objects of one home, on their way there; linked by their second word
    home *to;
    void *head, *tail;
    std::uint32_t length;
};

class trace_stream;
struct switch_table;
struct thread_state;
enum class home_state : std::uint32_t { wiped, lived_in, orphaned };

// Of a home with more than a few heaps; not constructed, so that only pages that are used are touched.
struct home_tables {
    static constexpr std::uint32_t heaps_without = 8;
    static constexpr unsigned nr_by_owner = 512, nr_closed = 1024;
    heap *by_owner[nr_by_owner];     // chains of the heaps whose owners have this remainder
    std::uint32_t closed[nr_closed]; // hashes of the handles of tenants whose heaps were reused
};

struct home {
    // Line 0: written by other threads. Head of the chain of objects that they freed. Pushed with release, taken with
    // acquire: the words written into the objects are seen by the collector. seq_cst where it meets `state`.
    alignas(64) std::atomic<void *> inbox;
    // Written under the orphans' lock; read by remote frees: somebody must collect for it, and it is they.
    std::atomic<home_state> state;

    alignas(64) std::uint64_t tag;
    std::uint32_t generation; // of the process that made it: see fork.hpp
    bool busy;                // inside a slow path or a switch; a signal handler that finds it set keeps its hands off
    // What such handlers freed, linked by the second word; the visit that they interrupted frees it when it ends. Written by
    // this thread and its handlers alone. relaxed: they are in order.
    std::atomic<void *> postponed;
    heap *current;     // whom the thread allocates for; written by it alone
    heap_front *shown; // what thread_here.active is while nobody wants the thread's attention: of current, or blank
    // The home's tag without a choice, wiped in a child, and what is known of callers; where these are told apart: see callers.hpp.
    heap_front *blank;
    caller_answers *answers;
    // The heap of the tenant that the thread has chosen, which an unaccounted scope does not change. Written by the thread,
    // release; read by who resets the tenant, acquire, or lists its threads; see active.hpp.
    std::atomic<heap *> chosen;
    // What another thread asks for: a tenant to work for from now on. Written by movers, release; taken by the thread.
    std::atomic<allot_tenant *> move_to;
    // How many tenants had ended when thread_state::active_tenant was last seen to live.
    std::uint64_t active_ended;
    // The tenant that the thread is about to choose, while it looks for the heap. Written and read as `chosen`.
    std::atomic<allot_tenant *> goes_to;
    switch_table *switches; // made when the thread chooses a tenant; wiped memory
    heap *heaps;            // newest first; the list only grows, and is walked by others
    heap *own;              // of the process's tenant
    // Who lives here: written under the orphans' lock, so that who holds it may write to the thread's own storage.
    thread_state *thread;
    std::atomic<std::uint32_t> thread_id; // read without the lock by who lists threads
    home_tables *tables;                  // nullptr: few heaps
    heap *reuse_next;                     // where the search for a heap to reuse goes on; nullptr: at the first
    std::uint32_t nr_heaps, graduated_by_traffic;
    // How many heaps there may be beyond the usual before those that own no slab are reused. It grows as tenants whose heaps
    // were reused become active again; they are remembered by a hash of their handles. It ends with the thread.
    std::uint32_t more_heaps;
    free_chain outgoing;
    std::uint64_t next_key; // state of the generator of slab keys
    // The first of the slots listed last, where nothing behind it was ever touched: all zero but for its first word.
    std::uintptr_t fresh_slot;
    std::uint64_t next_look_ms; // at bins that have become empty
    // Blocks that realloc has moved because they grew, by address: who comes again is placed where there is room.
    static constexpr unsigned nr_grown = 8;
    void *grown[nr_grown];
    std::uint32_t shared_bins[nr_classes];
    std::uint32_t shared_partial[nr_classes];
    home *next_orphan;
    home *next_home;     // all homes of the process, newest first; written once
    trace_stream *trace; // what is recorded here (trace.hpp); nullptr: nothing so far
};

struct thread_state {
    // Where the fast path allocates: never null. Written by the thread, and with front_of_nobody by others; see active.hpp.
    heap_front *active;
    home *in_home; // nullptr: none yet, or none any more; in a child a parent's, until its first call
    // A handle, since a handle knows when its tenant is gone: chosen by the thread or its mover, also for when it gets another
    // home. nullptr: the process's tenant.
    allot_tenant *active_tenant;
    switch_table *switches;    // the home's; nullptr: each switch is a slow one
    std::uint16_t unaccounted; // scopes entered
    std::uint8_t farewells;    // how often the thread's destructor ran
    std::uint8_t moves_wait;   // scopes entered in which another thread's request to move is not served
};
// constinit also here: the compiler then knows that no initialiser has to run before each use.
[[gnu::visibility("hidden")]] extern constinit thread_local thread_state thread_here;

// No choice, no home: what a thread points to before its first allocation and after its last farewell.
[[gnu::visibility("hidden")]] extern heap_front front_of_nobody;

// The home of this thread, made or adopted if need be; nullptr: no memory. Repairs a forked child first, but for a handler
// that forked amid a slow path: it finds a home that is busy, as its parent would.
[[nodiscard]] home *home_here();
// The heap of this home for an owner, opened if need be; nullptr: no memory.
[[nodiscard]] heap *heap_for_owner(home *, std::uint32_t owner);
// The same, nullptr where it has none.
[[nodiscard]] inline heap *heap_known(const home *h, std::uint32_t owner) {
    if (h->tables == nullptr) { // they are few
        heap *a = h->heaps;
        while (a != nullptr && a->owner != owner) a = a->next;
        return a;
    }
    heap *a = h->tables->by_owner[owner % home_tables::nr_by_owner];
    while (a != nullptr && a->owner != owner) a = a->next_by_owner;
    return a;
}
// A tenant becomes active that has no heap: the thread keeps more from now on if one of his was reused.
void heap_comes_back(home *, allot_tenant *);

// --- slow paths, each reached by a tail call from fast_path.hpp ------------------------------------------------------
// As the fast path does it, from any heap of this thread's home. nullptr: it takes a slow path, and nothing has happened.
[[nodiscard]] void *malloc_from_choice(heap *, std::size_t size);
[[nodiscard]] void *malloc_slow(std::size_t size);
[[nodiscard]] void *malloc_charge_slow(void *slot, slab *); // the context's word passed its bound
void free_slow(void *p);                                    // not private, not ours, misused, foreign
void free_place_slow(slab *);                               // pushed; its countdown is 0; not yet uncharged
void free_uncharge_slow(slab *);                            // pushed; the context's word passed its bound

// For a handler that finds the home busy; nullptr: the reserve is used up.
[[nodiscard]] void *alloc_amid_slow_path(std::size_t size, std::size_t alignment);
// A slot of exactly this class from the active heap.
[[nodiscard]] void *alloc_class_slow(home *, heap *, unsigned size_class);
// As malloc_slow, for up to 64 KiB, with zeros.
[[nodiscard]] void *calloc_slow(std::size_t size);
[[nodiscard]] void *calloc_charge_slow(void *slot, slab *, std::size_t size);
// All that calloc and realloc do, whatever the arguments; and a realloc of a slot that is too small, or much too large.
[[nodiscard]] void *heap_calloc_slow(std::size_t count, std::size_t size);
[[nodiscard]] void *heap_realloc_slow(void *p, std::size_t size);
[[nodiscard]] void *heap_move_slot(void *p, std::size_t was, std::size_t size);

// For a handler that finds the home busy: the block is freed when the visit ends. It has been checked, and is no longer
// taken for a live one.
void postpone_free(home *, void *p);
void free_postponed(home *);
void free_postponed_now(home *); // within a visit

// Credits an owner for an object, by way of the thread's own context of him.
void credit(home *, std::uint32_t owner, std::size_t bytes);

// Puts a slot back where this thread's home is the slab's. Uncharging is the caller's.
void slot_return(home *, slab *, void *slot);
// malloc does not look at this private slab any more.
void heap_forget_slab(const slab *);
// Every slab of a heap or home that is wholly free goes back to page_source.
void home_return_empty_slabs(home *);
void heap_return_empty_slabs(home *, heap *);
// The same a few times within the purge delay, and then back to the system if nobody has looked for so long. Within a visit,
// where the home's bins and lists are whole.
void home_look(home *, std::uint64_t now_ms);

} // namespace allot
