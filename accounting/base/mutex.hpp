// A lock of one word that names its holder, for the region: it works between threads and between processes.
//
// It exists because a pthread mutex cannot be used before libc is initialised, cannot be repaired after fork, and says
// nobody who holds it. The word is the holder's thread id, so that a waiter can find out that the holder is gone.
//
// Threads: any. A thread knows how many locks it holds: a signal handler that interrupts a holder sees that
//   (holds_locks()) and must not wait for anything, since the one it waits for may be waiting for the interrupted code.
// Owner: the word lives in the region; 0 is free. Drains of other processes may hold those of contexts: shared/remote.hpp.
// Invariants: 1. Locks are taken in the order of lock_rank; several of one rank are taken only by who holds the drain
//                lock, or in ascending order (direct). Debug builds check it.
//             2. No user code runs under any of them.
// Cost: one locked instruction to take, one to give back, when uncontended.
#pragma once

#include <atomic>
#include <cstdint>

namespace allot {

// The lock order: from the first to take to the last.
enum class lock_rank : std::uint32_t {
    drain,    // one drain, or one change of who owns what, at a time
    registry, // the tables and the tree: creation, destruction, lists
    direct,   // charges of bytes without context, striped by tenant
    context,  // one context's stock
    growth,   // of this process alone: mapping more of the region
};
inline constexpr std::uint32_t nr_lock_ranks = 5;

using lock_word = std::atomic<std::uint32_t>;

// Beside the holder's id: someone sleeps. Thread ids stay below 2^22.
inline constexpr std::uint32_t lock_sleepers = std::uint32_t{1} << 31;
// The holder is a drain of another process, and the rest of the word its ticket. Whoever waits for it takes the lock after
// lock_patience_ns, whatever the holder does, and calls what lock_set_broken was told.
inline constexpr std::uint32_t lock_foreign = std::uint32_t{1} << 30;
inline constexpr std::uint64_t lock_patience_ns = 2000000;
void lock_set_broken(void (*broken)());

void lock_take(lock_word &, lock_rank);
[[nodiscard]] bool lock_try(lock_word &, lock_rank);
void lock_give(lock_word &, lock_rank);
[[nodiscard]] bool lock_is_mine(const lock_word &);
// Tries for some microseconds, for a signal handler that must not wait.
[[nodiscard]] bool lock_try_for_a_while(lock_word &, lock_rank);

// How many locks this thread holds: not 0 at the entry of a public function means that this is a signal handler and
// that it interrupted one of our own functions.
[[nodiscard]] bool holds_locks();
void locks_child_start(); // the child's only thread holds none

class lock_scope {
public:
    lock_scope(lock_word &word, lock_rank rank) : word_(word), rank_(rank) { lock_take(word_, rank_); }
    ~lock_scope() { lock_give(word_, rank_); }
    lock_scope(const lock_scope &) = delete;
    lock_scope &operator=(const lock_scope &) = delete;

private:
    lock_word &word_;
    lock_rank rank_;
};

} // namespace allot
