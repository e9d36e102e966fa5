// What a thread's charges go by beside their tenant: how much they may insist, what is owed after them.
//
// It exists so that a charge's mode need not be handed through every layer between a program's call and the tree, and so
// that the slow paths leave a word to whoever can act on it: who holds no lock and is amid nothing of ours (settle.hpp).
//
// Threads: of one thread and its signal handlers; a handler leaves modes as it found them.
// Owner: the thread.
// Invariants: 1. Fast paths read nothing of it; slow paths read one byte.
//             2. `armed` names a level without a reference: at worst another tenant's record is compared with it.
// Cost: eight bytes of thread-local storage.
#pragma once

#include <cstdint>

namespace allot {

enum class charge_mode : std::uint8_t {
    ordinary, // drains, asks shrinkers, may be refused
    nowait,   // drains, but calls no user code and does not sleep; may be refused
    atomic,   // takes what it finds; where that is too little, goes over the limit, at once
    nofail,   // as ordinary, and what would be refused goes over the limit
    forced,   // of nofail, once nothing else is left to try
};

struct thread_charges {
    // Set by this thread's refusals, read by its drains: the handle of the level that refused. While it stands, small
    // charges below that level may use its headroom. 0: none.
    std::uint32_t armed;
    std::uint16_t emergencies; // scopes that this thread is inside of: headroom for every charge
    charge_mode mode;
    std::uint8_t flags;
};
static_assert(sizeof(thread_charges) == 8, "thread-local storage of a preload library is scarce");

// Bits of thread_charges::flags.
inline constexpr std::uint8_t owes_refusal = 1; // a charge was refused: settle_refusal decides whether finally
inline constexpr std::uint8_t owes_visit = 2;   // a charge left a level above `high`: settle_charge sees to it
inline constexpr std::uint8_t in_user_code = 4; // a shrinker or callback runs on this thread
inline constexpr std::uint8_t is_repeated =
    8; // the next charge that a plan of failures counts has been counted already

[[gnu::visibility("hidden")]] extern constinit thread_local thread_charges charges_here;

// Headroom is for what an error path needs: small things.
inline constexpr std::uint64_t headroom_charge_bytes = 4096;

// True: whoever can run user code and wait should call settle_refusal or settle_charge.
[[nodiscard]] inline bool settle_is_due() { return (charges_here.flags & (owes_refusal | owes_visit)) != 0; }

// For the time of one allocation.
class charge_mode_scope {
public:
    explicit charge_mode_scope(charge_mode mode) : before_(charges_here.mode) { charges_here.mode = mode; }
    ~charge_mode_scope() { charges_here.mode = before_; }
    charge_mode_scope(const charge_mode_scope &) = delete;
    charge_mode_scope &operator=(const charge_mode_scope &) = delete;

private:
    charge_mode before_;
};

// Around each call of user code: what it allocates is charged as usual, and it is not called again from within.
class user_code_scope {
public:
    user_code_scope() : mode_(charge_mode::ordinary), flags_(charges_here.flags) {
        charges_here.flags = static_cast<std::uint8_t>(flags_ | in_user_code);
    }
    ~user_code_scope() { charges_here.flags = flags_; }
    user_code_scope(const user_code_scope &) = delete;
    user_code_scope &operator=(const user_code_scope &) = delete;

private:
    charge_mode_scope mode_;
    std::uint8_t flags_;
};

// False: amid our own code in a handler, in user code that we called, or in a mode that forbids it.
[[nodiscard]] bool may_call_user_code();

// Nest; every charge inside may use headroom.
void emergency_begin();
void emergency_end();

} // namespace allot
