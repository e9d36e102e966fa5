// Failure injection: charges of one tenant that are refused although they fit, so that a program's error paths run.
//
// It exists because code that handles ENOMEM is never run otherwise. The plan of a tenant is its file memory.fail: "none";
// "N": the N-th charge from now; "N+": it and all later; "N-M": from the N-th to the M-th; "above SIZE": each of more
// bytes. Charges of the tenant itself count (objects of any size, external bytes), not those of its descendants.
//
// Threads: failure_is_due() with the lock that keeps the tenant in place; failures_of() under the registry lock,
//   failures_set() under drain lock and registry lock.
// Owner: the tenant's extra record.
// Invariants: 1. While a plan is set, the tenant's contexts hold no stock, so that each charge is counted.
//             2. A charge that is tried again after a refusal counts once.
//             3. Same order of charges, same failures.
// Cost: one load where no plan is set; with a plan every charge of the tenant takes its slow path.
#pragma once

#include "accounting/tenant_extra.hpp"
#include "accounting/thread_charges.hpp"

#include <cstdint>

namespace allot {

// Which of the charges, counted from 1 since the plan was made, fail; 0: none. And those of more than `above` bytes.
struct failure_window {
    static constexpr std::uint64_t for_ever = ~std::uint64_t{0};
    std::uint64_t first = 0, last = 0;
    std::uint64_t above = unlimited;
};

[[nodiscard]] bool failure_is_due_slow(const tenant &t, std::uint64_t bytes);

// Counts the charge; true: it is to fail, and counted so.
[[nodiscard]] inline bool failure_is_due(const tenant &t, std::uint64_t bytes) {
    if (t.counts_charges.load(std::memory_order_relaxed) == 0) [[likely]]
        return false;
    return failure_is_due_slow(t, bytes);
}

[[nodiscard]] failure_window failures_of(const tenant &t);
// 0 or -ENOMEM. Takes the stocks of t.
[[nodiscard]] int failures_set(tenant &t, const failure_window &w);

} // namespace allot
