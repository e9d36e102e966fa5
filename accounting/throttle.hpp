// The delay of a tenant that is over memory.high, where memory.throttle asks for one.
//
// It exists so that a program that outgrows its soft limit slows down instead of being refused: the kernel's delay, which
// grows with the square of the excess and of which a thread takes a part for each batch it charges. It is off unless asked
// for, and it never stops anyone: nothing is waited for, a delay only passes.
//
// Threads: any that holds no lock, outside signal handlers and user code; the formula is a pure function.
// Owner: nobody.
// Invariants: 1. A delay is at most 2 seconds, ends at a signal, and comes after the charge: there is always progress.
//             2. While it lasts the thread is in memory.stat's `throttled`; afterwards its time is in `throttled_usec`.
// Cost: nothing for who is not over high.
#pragma once

#include <cstdint>

namespace allot {

struct tenant;

inline constexpr std::uint64_t throttle_ms_max = 2000;
// Shorter ones are not worth the sleep: they are saved up.
inline constexpr std::uint64_t throttle_ms_least = 10;

// How far usage is over high, in parts of 2^-20 of high; 0: it is not.
[[nodiscard]] std::uint64_t overage_of(std::uint64_t usage, std::uint64_t high);
// The delay for bytes charged meanwhile, by a thread of a level that is so far over.
[[nodiscard]] std::uint64_t throttle_ms_of(std::uint64_t overage, std::uint64_t bytes);

// What memory.throttle says; `inherit`: what the nearest ancestor that says something says, off if none does.
enum class throttle_setting : std::uint8_t { inherit, off, on };
[[nodiscard]] bool is_throttled(const tenant &t);

// So many bytes of t have been charged while it, or a tenant above it, was over high: a delay is owed for them, and
// shrinkers may be asked again. Counted once t has been seen over high before.
void throttle_owe(const tenant &t, std::uint64_t bytes);
// Lets the delay pass that the handle's tenant owes, if any level above it that is over high asks for delays. The caller has
// a reference of the handle.
void throttle(std::uint32_t obj_cgroup);

} // namespace allot
