// A lock between threads of one process, for the allocator's rare shared state (free units, orphans, metadata).
//
// It replaces pthread_mutex, which may not be usable before libc is initialised and cannot be repaired after fork.
// Threads: any; not recursive. A signal handler never takes it (see emergency.hpp).
// A child whose handler forked amid a call ends that call: whoever else held a lock is not there.
// Rank: orphans > units > metadata. Of accounting only references to handles are given back while one is held. None is
//   held across fork's prepare handlers: the child makes them anew.
#pragma once

#include "accounting/base/os.hpp"
#include "alloc/metadata.hpp"

#include <atomic>
#include <cstdint>

namespace allot {

class process_lock {
public:
    void lock() {
        std::uint32_t free = 0;
        if (!state_.compare_exchange_strong(free, held, std::memory_order_acquire, std::memory_order_relaxed))
            [[unlikely]]
            lock_slow();
    }
    void unlock() {
        if (state_.exchange(0, std::memory_order_release) == contended) [[unlikely]]
            os_futex_wake(&state_, 1);
    }
    bool try_lock() {
        std::uint32_t free = 0;
        return state_.compare_exchange_strong(free, held, std::memory_order_acquire, std::memory_order_relaxed);
    }
    // In the child of a fork: whoever held it does not exist here.
    void make_anew() { state_.store(0, std::memory_order_relaxed); }

private:
    static constexpr std::uint32_t held = 1, contended = 2;

    [[gnu::noinline]] void lock_slow() {
        for (int spin = 0; spin < 64; ++spin) {
            os_pause();
            if (try_lock()) return;
        }
        while (state_.exchange(contended, std::memory_order_acquire) != 0) {
            if (forked_since_start()) return;
            os_futex_wait(&state_, contended);
        }
    }

    // Written by whoever locks or unlocks; acquire on taking and release on giving order what it protects.
    std::atomic<std::uint32_t> state_{0};
};

class lock_guard {
public:
    explicit lock_guard(process_lock &l) : lock_(l) { lock_.lock(); }
    ~lock_guard() { lock_.unlock(); }
    lock_guard(const lock_guard &) = delete;
    lock_guard &operator=(const lock_guard &) = delete;

private:
    process_lock &lock_;
};

} // namespace allot
