#include "accounting/failures.hpp"

namespace allot {

bool failure_is_due_slow(const tenant &t, std::uint64_t bytes) {
    thread_charges &here = charges_here;
    bool counted_before = (here.flags & is_repeated) != 0;
    here.flags = static_cast<std::uint8_t>(here.flags & ~is_repeated);
    tenant_extra *extra = extra_if_any(t);
    if (counted_before || extra == nullptr) return false;
    failure_plan &plan = extra->failures;
    std::uint64_t number = plan.counted.fetch_add(1, std::memory_order_relaxed) + 1;
    bool is_planned = plan.first.load(std::memory_order_relaxed) <= number &&
                      number <= plan.last.load(std::memory_order_relaxed);
    if (!is_planned && bytes <= plan.above.load(std::memory_order_relaxed)) return false;
    plan.injected.fetch_add(1, std::memory_order_relaxed);
    return true;
}

} // namespace allot
