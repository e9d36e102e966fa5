#include "accounting/base/mutex.hpp"

#include "accounting/base/check.hpp"
#include "accounting/base/os.hpp"

namespace allot {

namespace {

constexpr std::uint32_t sleepers = lock_sleepers;
constexpr int spins_before_sleeping = 100;
constexpr int spins_of_a_handler = 2000;
// A sleeper looks again after this time even if nobody wakes it: a holder may have been killed between giving the lock
// back and waking.
constexpr std::uint32_t sleep_ms = 100;
constexpr std::uint32_t foreign_sleep_ms = 1;

// How many of each rank. Written and read by this thread and its signal handlers alone; a handler leaves what it found.
// One word for all, since thread-local storage of a preload library is scarce: only contexts are ever many.
constinit thread_local std::uint64_t held = 0;

// A byte of the word for each rank, the upper half for contexts. No rank but that is held more than 16 times.
constexpr std::uint32_t shift_of(lock_rank rank) {
    constexpr std::uint32_t shifts[nr_lock_ranks] = {0, 8, 16, 32, 24};
    return shifts[static_cast<std::uint32_t>(rank)];
}
constexpr std::uint64_t one_of(lock_rank rank) { return std::uint64_t{1} << shift_of(rank); }
[[maybe_unused]] std::uint64_t held_of(lock_rank rank) {
    return held >> shift_of(rank) & (rank == lock_rank::context ? 0xffffffff : 0xff);
}

void check_order(lock_rank rank) {
    for (std::uint32_t later = static_cast<std::uint32_t>(rank) + 1; later < nr_lock_ranks; ++later)
        ALLOT_ASSERT(held_of(lock_rank{later}) == 0 && "locks are taken in the order of lock_rank");
    ALLOT_ASSERT((held_of(rank) == 0 || rank == lock_rank::direct || held_of(lock_rank::drain) == 1) &&
                 "several contexts are locked only under the drain lock");
    (void)rank;
}

// Counted before it is taken: a handler that comes in between must not think that this thread holds nothing. Not counted
// while waiting: then nobody waits for this thread, and a handler may wait like anyone else.
bool take_free(lock_word &word, lock_rank rank, std::uint32_t holder) {
    if (word.load(std::memory_order_relaxed) != 0) return false;
    held = held + one_of(rank);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::uint32_t free = 0;
    // acquire: pairs with the release of lock_give; what the last holder wrote is seen.
    if (word.compare_exchange_strong(free, holder, std::memory_order_acquire, std::memory_order_relaxed)) return true;
    held = held - one_of(rank);
    return false;
}

bool take_within(lock_word &word, lock_rank rank, int spins) {
    std::uint32_t self = os_tid();
    for (int spin = 0; spin < spins; ++spin) {
        if (take_free(word, rank, self)) return true;
        os_pause();
    }
    return false;
}

// Written once, when a process joins others; read by who has broken a lock.
constinit std::atomic<void (*)()> broken{nullptr};

// True: it was another process's, and is the caller's now.
bool take_foreign(lock_word &word, std::uint32_t seen, lock_rank rank, std::uint64_t &since) {
    const std::uint64_t now = os_nanoseconds();
    if (since == 0) since = now;
    if (now - since < lock_patience_ns) return false;
    held = held + one_of(rank);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // seq_cst: the holder's operations look at the word, and are finished after this.
    if (word.compare_exchange_strong(seen, os_tid() | sleepers, std::memory_order_seq_cst)) {
        if (auto *finish = broken.load(std::memory_order_acquire)) finish();
        return true;
    }
    held = held - one_of(rank);
    return false;
}

[[gnu::noinline]] void take_slow(lock_word &word, lock_rank rank) {
    if (take_within(word, rank, spins_before_sleeping)) return;
    std::uint32_t self = os_tid();
    for (std::uint64_t since = 0;;) {
        // Others may sleep still, so whoever has slept takes the lock with the mark.
        if (take_free(word, rank, self | sleepers)) return;
        std::uint32_t seen = word.load(std::memory_order_relaxed);
        ALLOT_ASSERT((seen & ~sleepers) != self && "a lock is not taken twice");
        if (seen == 0) continue;
        if ((seen & sleepers) == 0 && !word.compare_exchange_weak(seen, seen | sleepers, std::memory_order_relaxed))
            continue;
        if ((seen & lock_foreign) == 0) {
            os_futex_wait(&word, seen | sleepers, sleep_ms);
        } else {
            if (take_foreign(word, seen | sleepers, rank, since)) return;
            os_futex_wait(&word, seen | sleepers, foreign_sleep_ms);
        }
    }
}

} // namespace

void lock_set_broken(void (*finish)()) { broken.store(finish, std::memory_order_release); }

void lock_take(lock_word &word, lock_rank rank) {
    check_order(rank);
    if (!take_free(word, rank, os_tid())) take_slow(word, rank);
}

bool lock_try(lock_word &word, lock_rank rank) { return take_free(word, rank, os_tid()); }
bool lock_try_for_a_while(lock_word &word, lock_rank rank) { return take_within(word, rank, spins_of_a_handler); }

void lock_give(lock_word &word, lock_rank rank) {
    // release: pairs with the acquire of whoever takes it next.
    std::uint32_t was = word.exchange(0, std::memory_order_release);
    if ((was & sleepers) != 0) os_futex_wake(&word, 1);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    held = held - one_of(rank);
}

bool lock_is_mine(const lock_word &word) { return (word.load(std::memory_order_relaxed) & ~sleepers) == os_tid(); }

bool holds_locks() { return held != 0; }

void locks_child_start() { held = 0; }

} // namespace allot
