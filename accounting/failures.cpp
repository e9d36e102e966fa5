#include "accounting/failures.hpp"

#include "accounting/drain.hpp"

#include <cerrno>

namespace allot {

bool failure_is_due_slow(const tenant &t, std::uint64_t bytes) {
    thread_charges &here = charges_here;
    bool counted_before = (here.flags & is_repeated) != 0;
    here.flags = static_cast<std::uint8_t>(here.flags & ~is_repeated);
    tenant_extra *extra = extra_if_any(t);
    if (counted_before || extra == nullptr) return false;
    failure_plan &plan = extra->failures;
    std::uint64_t number = plan.counted.fetch_add(1, std::memory_order_relaxed) + 1;
    bool is_planned =
        plan.first.load(std::memory_order_relaxed) <= number && number <= plan.last.load(std::memory_order_relaxed);
    if (!is_planned && bytes <= plan.above.load(std::memory_order_relaxed)) return false;
    plan.injected.fetch_add(1, std::memory_order_relaxed);
    return true;
}

failure_window failures_of(const tenant &t) {
    failure_window w;
    const tenant_extra *extra = extra_if_any(t);
    if (extra == nullptr || t.counts_charges.load(std::memory_order_relaxed) == 0) return w;
    w.first = extra->failures.first.load(std::memory_order_relaxed);
    w.last = extra->failures.last.load(std::memory_order_relaxed);
    w.above = extra->failures.above.load(std::memory_order_relaxed);
    return w;
}

int failures_set(tenant &t, const failure_window &w) {
    if (w.first == 0 && w.above == unlimited) {
        t.counts_charges.store(0, std::memory_order_relaxed); // the next slow path of each context holds stock again
        return 0;
    }
    tenant_extra *extra = extra_of(t);
    if (extra == nullptr) return -ENOMEM;
    extra->failures.first.store(w.first, std::memory_order_relaxed);
    extra->failures.last.store(w.last, std::memory_order_relaxed);
    extra->failures.above.store(w.above, std::memory_order_relaxed);
    extra->failures.counted.store(0, std::memory_order_relaxed);
    t.counts_charges.store(1, std::memory_order_relaxed);
    // Who charges ahead holds a context's lock, and saw either the mark or will be drained now.
    drain_subtree_of(t);
    return 0;
}

} // namespace allot
