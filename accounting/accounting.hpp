// What the allocator and the preload glue may ask of accounting: numbers and owners, never slabs or objects.
//
// Threads: every function may be called from any thread unless it says otherwise; none allocates through malloc, none
//   calls user code under a lock, none changes errno.
// Errors: refusal is a value. Functions that return int return 0 or -errno.
#pragma once

#include "accounting/base/units.hpp"
#include "accounting/context.hpp"
#include "accounting/refusal.hpp"

#include <cstdint>

struct allot_tenant; // the C handle: index and generation in a pointer's bits, never dereferenced

namespace allot {

enum class charge_kind : std::uint32_t { large, external };

// Must be called before anything else here, by whoever comes first; idempotent and safe to race. Reads the options
// (accounting/options.hpp), maps the region, creates the tenant of the options with its missing parents, sets its
// limits, registers membarrier. False: not even a private region could be mapped, or the program is excluded; the caller
// goes on unaccounted: owners are then 0, for which every function below does nothing and refuses nothing.
bool accounting_start();

// Whoever keeps something of the process beside accounting (the allocator: contexts) says how a child of a fork is made
// whole: all of it, with a call of accounting_child_start(). Functions that may be a child's first call (accounting_start,
// and so the C API; accounting_seccomp_seen) find out that it is one and call this. Without it they repair accounting alone.
void accounting_set_repair(void (*repair)());

// In the child of a fork, before any other call: makes this process's copy of the hierarchy its own. Usage starts at
// zero at every level, contexts of the parent's threads are dropped, limits and names stay. Single-threaded.
void accounting_child_start();

// Before a fork that libc knows of.
void accounting_before_fork();
// At once after a fork that libc knows of. True: this process shares its tree with others, and is to begin anew as soon as it
// can. What a handler has interrupted ends with the parent's contexts; it changes copies of them from now on.
[[nodiscard]] bool accounting_after_fork();

// Whoever sees that this process sets up seccomp calls this before it does: a filter may forbid membarrier, by death.
// From then on no stocks are held: every operation is exact, and slower.
void accounting_seccomp_seen();

// At exit: a reader outside can tell this process's end from a death. Does nothing in a child of a fork that has never
// called anything: the record it sees is its parent's.
void accounting_finish();

// --- tenants and handles -------------------------------------------------------------------------------------------
allot_tenant *tenant_root();
allot_tenant *tenant_default(); // the tenant of this process (option `tenant`, or what a rule gives to the program)
// What threads allocate from now on that have chosen no other; others see the process there. Before there are other threads.
void tenant_set_default(allot_tenant *);
// Creates what is missing; nullptr and no change if malformed or full.
allot_tenant *tenant_create_path(const char *path);
// Index of its living handle, or of the nearest living ancestor's if stale, with a reference that the caller puts: what
// it names is not used again meanwhile. A signal handler that interrupted our own code and cannot look for the ancestor
// gets the root's. 0 where nothing is accounted. Two locked instructions with the put.
[[nodiscard]] std::uint32_t obj_cgroup_get(allot_tenant *);
// The same without a reference: only for as long as the caller knows that the tenant is not destroyed.
std::uint32_t obj_cgroup_of(allot_tenant *);
// The generation of the tenant's record, which is the handle's for as long as the tenant lives; its address stays for the life of
// the process. Written by who destroys the tenant, under the registry lock; read by anyone, acquire: what is loaded next is no
// older. nullptr: nothing is accounted.
const std::atomic<std::uint32_t> *tenant_generation(allot_tenant *);
inline bool tenant_is_of(allot_tenant *handle, const std::atomic<std::uint32_t> &generation) {
    return generation.load(std::memory_order_acquire) ==
           static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle) >> 32);
}
// How many tenants of this process have ended, each after its generation had changed; and the uppermost bit, which whoever wants
// nobody to go by that for a while sets and clears. Written under the registry lock, or by who owns the bit, release; read by
// anyone, acquire: while the number stays the same, so do the generations that are read after it.
[[gnu::visibility("hidden")]] extern constinit std::atomic<std::uint64_t> tenants_ended;
inline constexpr std::uint64_t tenants_ended_is_moot = std::uint64_t{1} << 63;
// Whom the objects of that handle belong to now. The caller holds a reference.
allot_tenant *tenant_of(std::uint32_t obj_cgroup);

// A slab, a vector entry's slab, an external range: whatever names an obj_cgroup from outside the region holds a
// reference, so that the index is not recycled while it is named. The context holds its own.
void obj_cgroup_grab(std::uint32_t obj_cgroup, std::uint32_t references = 1);
void obj_cgroup_put(std::uint32_t obj_cgroup, std::uint32_t references = 1);

// --- contexts: one per (thread, obj_cgroup) ------------------------------------------------------------------------
context *context_open(std::uint32_t obj_cgroup); // by the owner thread; nullptr: the region cannot grow
void context_close(context *);                   // by the owner: settles, gives the stock back, frees the record
// By the owner, when its thread ends but slabs still name the context: settles and gives the stock back; whoever takes
// the slabs over takes the context with them and simply goes on using it.
void context_park(context *);

// context_charge said false. True: covered now. False: refused so far: d has been taken out of net again, event `max` is
// counted, and refusal_take() of settle.hpp gives what is to be settled, once the caller holds nothing, before it tries
// again or gives up. Never runs user code, never prints.
[[nodiscard]] bool context_charge_slow(context *, net_word d);
// context_uncharge said false.
void context_uncharge_slow(context *);
// Folds net into the books (statistics, stock) without changing what is charged; called by the owner at slab refills and
// the like so that neither half of net can run into the other.
void context_fold(context *);

// --- direct charges: objects >= direct_charge_bytes, and external bytes ---------------------------------------------
// The caller holds a reference of the handle. False: refused so far, see `left` and settle.hpp.
[[nodiscard]] bool charge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind, refusal &left);
// For callers amid nothing: settles whatever comes up. False: refused for good.
[[nodiscard]] bool charge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind);
void uncharge_bytes(std::uint32_t obj_cgroup, std::uint64_t bytes, charge_kind);
// Large objects, by the thread that uses a context of the handle: no system call. Any context of the same handle may give
// back what another one was charged; a context of handle 0 counts nothing. False: as context_charge_slow.
[[nodiscard]] bool context_charge_bytes(context *, std::uint64_t bytes);
void context_uncharge_bytes(context *, std::uint64_t bytes);
// An object that has been charged by net is from now on a large one, or the other way round: no limit is asked, for nothing
// is charged or uncharged. By the thread that uses the context, amid nothing of ours.
void context_object_to_large(context *, std::uint64_t bytes);
void context_large_to_object(context *, std::uint64_t bytes);
// Slab objects below direct_charge_bytes that are freed where no context of the handle can be opened: credited at once.
void uncharge_objects(std::uint32_t obj_cgroup, std::uint64_t bytes, std::uint64_t objects);
// An object that this process has inherited by a fork and frees now: its payer is another process, or was.
void free_inherited(std::uint32_t obj_cgroup, std::uint64_t bytes);
// Moves a charge that exists between owners: exact at every level, ignores limits only for common ancestors.
[[nodiscard]] bool transfer_charge(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t objects,
                                   refusal &left);
[[nodiscard]] bool transfer_charge(std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
                                   std::uint64_t objects); // settled

// --- the recount ----------------------------------------------------------------------------------------------------
// What alloc/ found alive, per obj_cgroup: slab objects < direct_charge_bytes ...
struct recount_sink {
    void *state;
    void (*add)(void *state, std::uint32_t obj_cgroup, std::uint64_t bytes, std::uint64_t objects); // of this process
};
using recount_source = void (*)(recount_sink &);
void verify_set_source(recount_source); // by alloc/, once

struct verify_result {
    std::uint64_t tenants;     // looked at
    std::uint64_t differences; // 0: everything holds
    char first[192];           // the first difference, as a sentence
};
// At a quiescent point (no thread inside an operation). Checks for each tenant: usage >= 0; usage = live bytes found by
// the source + large + external + stocks over its subtree; children's protected sums; every context's invariants.
verify_result verify();

} // namespace allot
