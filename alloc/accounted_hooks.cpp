#include "alloc/accounted_hooks.hpp"

#include "accounting/allocator_source.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/options.hpp"
#include "accounting/reclaim.hpp"
#include "accounting/tenant.hpp"
#include "alloc/memory_figures.hpp"
#include "alloc/thread_moves.hpp"

#include <limits>

namespace allot {

constinit context accounted_hooks::uncounted_context{
    .net = 0,
    .hi = std::numeric_limits<net_word>::max(),
    .lo = std::numeric_limits<net_word>::min(),
    .obj_cgroup = 0,
    .index = 0,
    .lock = 0,
    .flags = 0,
    .stock = 0,
    .swing = 0,
    .returned = 0,
};

constinit bool accounted_hooks::counting = false;
constinit bool accounted_hooks::keeps_each_request = false;

void accounted_hooks::owner_path(std::uint32_t obj_cgroup, char *path, std::size_t bytes) {
    *path = '\0';
    if (counting && obj_cgroup != 0) write_path(*tenant_named_by(obj_cgroup), path, bytes);
}

namespace {

allocator_figures figures() {
    memory_figures own = memory_figures_get();
    return {own.cache, own.overhead, own.resident};
}
constexpr allocator_source this_allocator{figures, requested_samples, threads_list, thread_move};

} // namespace

bool accounted_hooks::start(recount_source source) {
    verify_set_source(source);
    accounting_set_repair(heap_start);
    accounting_set_allocator(&this_allocator);
    reclaim_set_purge([] { (void)heap_trim(0); });
    counting = accounting_start();
    keeps_each_request = counting && options_get().requested == request_count::exact;
    return counting;
}

} // namespace allot
