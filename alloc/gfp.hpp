// The flags of kmalloc-like calls, for the time of one allocation.
//
// Threads: one; scopes nest. Owner: the caller's stack.
#pragma once

#include "alloc/active_scope.hpp"
#include "alloc/binding.hpp"

#include <allot/alloc.h>

namespace allot {

// At most one of the three that say how much to insist, and nothing that is not known.
constexpr bool is_gfp(allot_gfp flags) {
    constexpr unsigned how = ALLOT_NOFAIL | ALLOT_ATOMIC | ALLOT_NOWAIT;
    auto bits = static_cast<unsigned>(flags);
    unsigned asked = bits & how;
    return (bits & ~(how | ALLOT_UNACCOUNTED | ALLOT_ZERO)) == 0 && (asked & (asked - 1)) == 0;
}

constexpr insistence insistence_of(allot_gfp flags) {
    return (flags & ALLOT_NOFAIL) != 0   ? insistence::nofail
           : (flags & ALLOT_ATOMIC) != 0 ? insistence::atomic
           : (flags & ALLOT_NOWAIT) != 0 ? insistence::nowait
                                         : insistence::ordinary;
}

class gfp_scope {
public:
    explicit gfp_scope(allot_gfp flags)
        : unaccounted_((flags & ALLOT_UNACCOUNTED) != 0), insistence_(insistence_of(flags)) {}

private:
    unaccounted_scope unaccounted_;
    [[no_unique_address]] hooks::insistence_scope insistence_;
};

} // namespace allot
