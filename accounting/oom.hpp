// What a refusal that is final leads to: the policy of the level that had no room.
//
// Threads: any; without locks. Owner: nobody. Cost: nothing with the policy `fail`.
// Invariants: 1. Nothing is allocated and nothing printed unless the policy says so.
//             2. It is not called for injected failures.
#pragma once

#include "accounting/tenant.hpp"

#include <cstdint>

namespace allot {

// By the nearest ancestor-or-self that says something.
[[nodiscard]] refusal_policy policy_of(const tenant &level);

// `bytes` for `asked` did not fit at `level`. Records stay readable whatever happens to their tenants meanwhile.
void refused(const tenant &asked, const tenant &level, std::uint64_t bytes);

} // namespace allot
