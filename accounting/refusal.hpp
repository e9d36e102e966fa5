// A refusal on its way to a decision: who asked for how much, and which level had no room.
//
// It exists because what may still help, shrinkers, and what a final refusal leads to, a policy, are user code or may end
// the process: they run where the caller holds nothing, which is not where the refusal comes about.
//
// Threads: of the thread that was refused. Owner: a context's slow paths leave it in the context, the others in the
//   caller's own.
// Invariants: `asked` names a handle on which the caller holds a reference; the level is found from it by depth, so that
//   neither can be mistaken for another when tenants are destroyed meanwhile.
// Cost: 16 bytes.
#pragma once

#include <cstdint>

namespace allot {

// What a refusal leads to. `inherit`: what the nearest ancestor that says something says; fail if none does.
enum class refusal_policy : std::uint8_t { inherit, fail, kill, abort };

enum class refusal_kind : std::uint8_t { none, limit, injected };

struct refusal {
    std::uint32_t asked = 0; // handle
    std::uint8_t level_depth = 0;
    refusal_kind kind = refusal_kind::none;
    std::uint8_t tries = 0; // how often shrinkers have been asked for it
    std::uint8_t unused = 0;
    std::uint64_t bytes = 0;
};
static_assert(sizeof(refusal) == 16);

} // namespace allot
