// Reclaim: asking the program for memory, by the shrinkers that it has registered, and what belongs to it: taking stocks
// before, delays after.
//
// It exists so that the four who want memory back, a charge that does not fit, a tenant over memory.high, a limit that is
// lowered and who writes to memory.reclaim, ask for it in one way.
//
// Threads: any; without locks, outside signal handlers. User code runs, inside a user_code_scope.
// Owner: nobody.
// Invariants: 1. A level is named by its C handle: one that is destroyed meanwhile has nothing to give.
//             2. Each ends: after so many tries, or the first without progress.
// Cost: nothing where no shrinker is registered, but for the drains of a request.
#pragma once

#include <cstdint>

struct allot_tenant;

namespace allot {

enum class given : std::uint32_t {
    nobody_asked, // there is no shrinker
    nothing,
    soon, // nothing, but another thread's shrinker is freeing, and no longer counts what it has not given back yet
    something,
};
// For a charge of `bytes` for the handle's tenant that did not fit at the level: what shrinkers of its subtree say to it.
[[nodiscard]] given reclaim_for_refusal(std::uint32_t asked, allot_tenant *level, std::uint64_t bytes);

// After a charge for the handle's tenant: for all levels from it up that are over `high`. Delays follow where they are
// asked for.
void reclaim_for_high(std::uint32_t obj_cgroup);

// Takes the stocks below top, then up to so many bytes from shrinkers, then what that left in stocks. By how much usage
// fell, without stocks.
std::uint64_t reclaim(allot_tenant *top, std::uint64_t bytes);

// After memory.high or memory.max has been set: until usage is below both, as far as shrinkers give.
void reclaim_to_limits(allot_tenant *of);

// What is written to memory.reclaim: "SIZE [swappiness=N|max]". 0, -EINVAL, -ESTALE, or -EAGAIN: less was given back.
[[nodiscard]] int reclaim_request(allot_tenant *of, const char *text);

// By the allocator, once: gives memory that it keeps free for later back to the system. Asked by requests alone, since
// nobody is charged for it.
void reclaim_set_purge(void (*purge)());

} // namespace allot
