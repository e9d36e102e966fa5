#include "accounting/allocator_source.hpp"

#include "accounting/base/os.hpp"
#include "accounting/obj_cgroup.hpp"
#include "accounting/tenant.hpp"

#include <atomic>

namespace allot {

namespace {

// Written once, by the allocator's start; acquire and release: what it had made before is there.
constinit std::atomic<const allocator_source *> the_allocator{nullptr};

struct sums {
    std::uint64_t requested, usable;
};

// Samples of the subtree and, for where it has none, of all.
struct sampling {
    const tenant *top;
    sums below, all;
};

bool is_below(const tenant *t, const tenant *top) {
    while (t != nullptr && t != top) t = parent_of(*t);
    return t != nullptr;
}

void add_sample(void *state, std::uint32_t obj_cgroup, std::uint64_t requested, std::uint64_t usable) {
    sampling &s = *static_cast<sampling *>(state);
    s.all.requested += requested;
    s.all.usable += usable;
    if (!is_below(tenant_named_by(obj_cgroup), s.top)) return;
    s.below.requested += requested;
    s.below.usable += usable;
}

} // namespace

void accounting_set_allocator(const allocator_source *source) {
    the_allocator.store(source, std::memory_order_release);
}
const allocator_source *allocator_if_any() { return the_allocator.load(std::memory_order_acquire); }

allocator_figures process_figures() {
    const allocator_source *source = allocator_if_any();
    allocator_figures all = source != nullptr ? source->figures() : allocator_figures{};
    if (!region_is_mapped()) return all;
    std::uint64_t own = os_resident_bytes(the_region.base, piece_bytes);
    for (std::uint32_t t = 0; t < nr_tables; ++t) {
        // The last piece may hold more than the records that fit.
        std::uint64_t bytes =
            std::uint64_t{the_region.mapped[t].load(std::memory_order_acquire)} * region().tables[t].record_bytes;
        own += os_resident_bytes(the_region.records[t], bytes);
    }
    all.overhead += own;
    all.resident += own;
    return all;
}

std::uint64_t requested_estimate(const tenant &top, std::uint64_t usable) {
    const allocator_source *source = allocator_if_any();
    if (source == nullptr) return usable;
    sampling found{&top, {}, {}};
    source->requested(add_sample, &found);
    const sums &s = found.below.usable != 0 ? found.below : found.all;
    if (s.usable == 0) return usable;
    if (s.usable == usable) return s.requested; // each block has been seen
    return static_cast<std::uint64_t>(static_cast<double>(usable) * static_cast<double>(s.requested) /
                                      static_cast<double>(s.usable));
}

} // namespace allot
