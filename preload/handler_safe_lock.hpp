// A lock that a signal handler may find held by the very thread it interrupted, and be told so instead of waiting.
//
// It exists because mmap and munmap are called from signal handlers (garbage collectors, crash reporters), where a plain
// mutex would wait for its own thread for ever. It knows its holder by the thread pointer, which is free to read and
// differs between the threads of a process.
//
// Threads: any, signal handlers included, if they accept `enter() == false`.
// Invariants:
//   1. The word is 0, or the holder's thread pointer, with bit 0 set when somebody may be waiting. One word, so that a
//      handler never sees a lock that is held by nobody.
//   2. No user code and no wrapped function runs while it is held.
// Cost: two locked instructions when nobody else wants it.
#pragma once

#include "accounting/base/fork_mark.hpp"
#include "accounting/base/os.hpp"

#include <atomic>
#include <cstdint>
#include <sys/syscall.h>

namespace allot {

class handler_safe_lock {
public:
    // False: this thread holds it already, further down the stack. Nothing was taken.
    [[nodiscard]] bool enter() {
        const std::uintptr_t self = thread_identity();
        std::uintptr_t seen = 0;
        // acquire: pairs with the exchange in leave(), so that what the last holder wrote is seen.
        if (word_.compare_exchange_strong(seen, self, std::memory_order_acquire)) return true;
        if ((seen & ~waiting) == self) return false;
        enter_slow(self);
        return true;
    }

    void leave() {
        // release: pairs with the compare-and-swaps of enter(). The exchange also fetches the mark of a waiter.
        if (word_.exchange(0, std::memory_order_release) & waiting) wake();
    }

    bool held_by_me() const { return (word_.load(std::memory_order_relaxed) & ~waiting) == thread_identity(); }
    bool held() const { return word_.load(std::memory_order_relaxed) != 0; }

    // In the child of a fork: the holder, if there was one, does not exist here.
    void reset() { word_.store(0, std::memory_order_release); }

private:
    static constexpr std::uintptr_t waiting = 1;

    [[gnu::noinline]] void enter_slow(std::uintptr_t self) {
        for (int spins = 0; spins < 64; ++spins) {
            std::uintptr_t seen = 0;
            if (word_.compare_exchange_weak(seen, self, std::memory_order_acquire)) return;
        }
        for (;;) {
            std::uintptr_t seen = word_.load(std::memory_order_relaxed);
            // Taken with the mark set: others may have slept meanwhile, and only the mark makes leave() wake them.
            if (seen == 0 && word_.compare_exchange_weak(seen, self | waiting, std::memory_order_acquire)) return;
            if (seen == 0) continue;
            if (!(seen & waiting) && !word_.compare_exchange_weak(seen, seen | waiting, std::memory_order_relaxed))
                continue;
            sleep_while(seen | waiting);
        }
    }

    // The futex looks at the lower half of the word; both machines we know keep it at the lower address. Another holder
    // with the same lower half costs a longer sleep, not a lost wake-up: it too sees the mark.
    void sleep_while(std::uintptr_t value) {
        os_call(SYS_futex, reinterpret_cast<long>(&word_), 128 /* FUTEX_WAIT | PRIVATE */,
                static_cast<long>(static_cast<std::uint32_t>(value)), 0);
    }
    void wake() { os_call(SYS_futex, reinterpret_cast<long>(&word_), 129 /* FUTEX_WAKE | PRIVATE */, 1); }

    // Written by whoever takes or leaves the lock, and by those who wait (bit 0); read by the same.
    std::atomic<std::uintptr_t> word_{0};
};

} // namespace allot
