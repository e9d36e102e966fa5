// The valid name that a mistyped one was most likely meant to be.
//
// It exists for one warning: "ALLOT_MEMROY_MAX: no such setting; did you mean ALLOT_MEMORY_MAX?".
//
// Threads: pure functions. Owner: nobody. Cost: length times length, on cold paths only.
// Invariants: 1. Names longer than nearest_max_length are compared by that many leading bytes: no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

inline constexpr std::size_t nearest_max_length = 48;

// Insertions, deletions, substitutions and swaps of neighbours that lead from one text to the other; capitals count as
// small letters, and `_`, `-` and `.` as one another, since those are the mistakes people make.
[[nodiscard]] std::uint32_t edit_distance(const char *a, std::size_t a_length, const char *b, std::size_t b_length);

} // namespace allot
