// A visit to the slow paths: marks the home busy, so that a signal handler of the same thread keeps out of its lists;
// does what such handlers had to postpone; and lets a thread that has said farewell leave the home again at once: other destructors of thread-specific data may
// follow, in this round or in another, and libc's own after them, and nobody says which is the last.
#pragma once

#include "alloc/adopt.hpp"

namespace allot {

class visit {
public:
    explicit visit(home *h) : home_(h) {
        home_->busy = true;
        std::atomic_signal_fence(std::memory_order_seq_cst); // only a handler of this thread looks
    }
    ~visit() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        home_->busy = false;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (home_->postponed.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
            free_postponed(home_);
        if (thread_here.farewells != 0) [[unlikely]]
            home_leave(home_);
    }
    visit(const visit &) = delete;
    visit &operator=(const visit &) = delete;

private:
    home *home_;
};

} // namespace allot
