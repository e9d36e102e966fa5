// Whom a thread works for, and who else has a say in it.
//
// A thread's tenant is chosen by the thread (heap_set_active), or by another one through cgroup.threads (thread_moves.hpp).
// The fast path knows one pointer, thread_here.active. Whoever wants the thread's attention puts a request into its home
// and then front_of_nobody into that pointer: the next malloc or free finds no slab or another tag, takes its slow path,
// and there home_here() sees that the pointer is not what the home says (home::current) and serves the request. The slow
// paths themselves look at home::current alone, which nobody else writes.
//
// Two rare visitors rely on an order here, and pay for it with a membarrier, so that the thread pays nothing:
//   mover:  request, membarrier, blank the pointer          thread: pointer, then request
//   reset:  say which tenant, membarrier, look at goes_to     thread: goes_to or chosen, then which tenant is being reset
//           and chosen
// Either the thread sees what the other one has said, or the other one comes after and sees (or overwrites) what it has
// stored. Without membarrier both pass through one shared word instead. So whoever writes the pointer looks for a request
// afterwards: begin_to_work, serve_requests, and each change of tenant or scope.
//
// A change to a tenant that the thread has worked for before is no slow path: its heap is found in the table of switches.hpp,
// chosen, and shown. That one is being reset is seen by what says whether the table is right, and leads to the slow path.
//
// Threads: the home's own, not amid a slow path, unless it says otherwise.
// Invariants: 1. thread_here.active is home::shown, or front_of_nobody with somebody's request on its way or served, or for as long
//   as the process records what it does (trace.hpp). home::shown is the front of home::current, or blank (callers.hpp).
//   2. No thread works for a tenant while it is reset, but who resets it.
#pragma once

#include "alloc/heap.hpp"

namespace allot {

// Chooses for a home that was just moved into, and serves what was asked of it meanwhile. False: no memory for a heap.
[[nodiscard]] bool begin_to_work(home *);
// The pointer has been blanked: serves what was asked for, and puts it right.
void serve_requests(home *);

// What this thread shows may have to be another front from now on.
void heap_show_again();

// As the fast path of a thread that works for the tenant, for this one block. nullptr: it takes a slow path.
[[nodiscard]] void *malloc_in_passing(home *, allot_tenant *, std::size_t size);

// For the visitors: after this, each thread sees what they stored before, or they see what it stored.
void order_all_threads();

// While it lives, no other thread begins to work for the tenant: heap_set_active waits. One at a time.
class tenant_closed {
public:
    explicit tenant_closed(allot_tenant *);
    ~tenant_closed();
    tenant_closed(const tenant_closed &) = delete;
    tenant_closed &operator=(const tenant_closed &) = delete;
    // Whether another thread than the calling one works for it: to be asked after closing.
    [[nodiscard]] bool somebody_is_inside(const home *mine) const;

private:
    allot_tenant *tenant_;
};

// A block of up to 64 KiB for a living tenant that the thread has worked for, with no more ado than malloc's; nullptr: that
// takes a switch there and back, or cannot be.
[[nodiscard]] void *heap_malloc_in_known(allot_tenant *, std::size_t size);

// The living tenant that a handle stands for.
[[nodiscard]] allot_tenant *living(allot_tenant *);
// Whether it is that tenant's own handle, not one of a tenant that is gone, or of none; nullptr is the root's.
[[nodiscard]] bool is_of_now(allot_tenant *);

// From begin to end, nested, nobody moves this thread to another tenant; then what was asked for meanwhile is served.
void heap_moves_wait_begin();
void heap_moves_wait_end();

void active_child_start();

} // namespace allot
