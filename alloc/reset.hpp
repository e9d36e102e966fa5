// Reset: every object that a tenant owns is freed at once, wherever it lies.
//
// It exists for programs that give a request, a plugin or a script a tenant of its own and end it as a whole: what it
// leaked goes with it.
//
// What goes: each live block that is charged to the tenant itself: in shared slabs, in private ones, transferred to it,
// large, inherited from a destroyed child. Not what its children own, not external bytes, not what a signal handler was
// given from the emergency reserve.
//
// Whether a slot lives is read as a recount would: in a vector the entry says whose it is; in a private slab every carved
// slot lives whose first word does not carry the mark of a free one, which slots in a list, on their way to one and
// postponed by a handler all do. While a slab is looked at no unit changes hands (units_held), so header and vector are
// those of one life of it; that other tenants' slots in it come and go meanwhile changes nothing for the tenant's own,
// which nobody else allocates or frees. What is found is marked and chained as frees of a handler are, and freed like
// those, with the books and the way home of any other free.
//
// Threads: any that is not amid a slow path. While it lasts no other thread begins to work for the tenant
//   (active.hpp), and the caller sees to it that none frees, resizes or transfers its blocks, or a block to it, and that no
//   child of it is destroyed for which a thread works.
// Cost: a look at each header, and at each slot of slabs in which the tenant may have some; then that of the frees.
#pragma once

struct allot_tenant;

namespace allot {

// 0; -EINVAL: the root; -ESTALE: there is no such tenant; -EBUSY: another thread works for it; -ENOMEM: no home could be
// had, or a signal handler amid a slow path. The calling thread may work for it.
[[nodiscard]] int heap_reset(allot_tenant *);

} // namespace allot
