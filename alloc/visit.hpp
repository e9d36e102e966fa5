// A visit to the slow paths: marks the home busy, so that a signal handler of the same thread keeps out of its lists,
// and lets a thread that has said its last farewell leave the home again at once.
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
        if (thread_here.farewells >= last_farewell) [[unlikely]]
            home_leave(home_);
    }
    visit(const visit &) = delete;
    visit &operator=(const visit &) = delete;

private:
    home *home_;
};

} // namespace allot
